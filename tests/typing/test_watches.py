"""What mypy and pyright say of an author's watches: the snippets are checked, not run.

Each snippet is checked as a line of one file, so that both checkers start once.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BEFORE = """\
from steersman import Chosen, Context, ObjectKey, Operator, Owned, Reference, Watch
from steersman.controller import WatchedKind
from steersman.kinds.core_v1 import ConfigMap, Pod, Service

operator = Operator("typing")


def named_after(config: ConfigMap) -> list[str]:
    return [config.name]


def selects(service: Service, pod: Pod) -> bool:
    return service.spec.selector == pod.labels


several = [Watch(ConfigMap, to=named_after), Watch(Pod, to=lambda pod: [pod.name]), Watch(Service, lambda _: [])]
mixed: list[WatchedKind[Service]] = [Watch(ConfigMap, to=named_after), Chosen(Pod, by=selects)]


def used_by(service: Service) -> str | None:
    return service.spec.external_name


async def reconcile(service: Service, ctx: Context[Service]) -> None: ...


async def reconcile_pod(pod: Pod, ctx: Context[Pod]) -> None: ...


"""
GOOD = [
    "operator.reconciler(Service, watches=several)(reconcile)",
    "operator.reconciler(Service, watches=mixed)(reconcile)",
    "operator.reconciler(Service, watches=[Watch(ConfigMap, to=lambda config: [config.name])])(reconcile)",
    "operator.reconciler(Service, watches=[Watch(Pod, to=lambda pod: [ObjectKey('a', pod.name)])])(reconcile)",
    "operator.reconciler(Service, watches=[Watch(ConfigMap, to=named_after)])(reconcile)",
    "operator.reconciler(Service, watches=[Chosen(Pod, by=selects)])(reconcile)",
    "operator.reconciler(Service, watches=[Chosen(Pod, by=lambda one, pod: one.labels == pod.labels)])(reconcile)",
    "operator.reconciler(Service, watches=(Watch(ConfigMap, to=named_after), Chosen(Pod, by=selects)))(reconcile)",
    "operator.reconciler(Service, watches=[Watch(Pod, to=lambda pod: []), Chosen(Pod, by=selects)])(reconcile)",
    "operator.reconciler(Service, watches=[Reference(Pod, by=used_by)])(reconcile)",
    "operator.reconciler(Service, watches=[Reference(Pod, by=lambda one: one.spec.external_name)])(reconcile)",
    "operator.reconciler(Service, watches=[Reference(Pod, by=lambda one: one.spec.external_ips)])(reconcile)",
    "operator.reconciler(Service, watches=[Reference(Pod, by=used_by), Chosen(Pod, by=selects)])(reconcile)",
    "operator.reconciler(Service, watches=[Watch(Pod, to=lambda _: [], namespaces=['a'], selector='a=b')])(reconcile)",
    "operator.reconciler(Service, owns=[Pod, Owned(ConfigMap, labels={'a': 'b'}, metadata_only=True)])(reconcile)",
    "operator.reconciler(Service, priority=lambda service: len(service.labels))(reconcile)",
]
BAD = [
    # A typo in what a lambda does with the watched object, and with the reconciled one.
    "operator.reconciler(Service, watches=[Watch(ConfigMap, to=lambda config: [config.nmae])])(reconcile)",
    "operator.reconciler(Service, watches=[Chosen(Pod, by=lambda one, pod: one.labels == pod.lables)])(reconcile)",
    "operator.reconciler(Service, watches=[Chosen(Pod, by=lambda one, pod: one.lables == pod.labels)])(reconcile)",
    "operator.reconciler(Service, watches=[Watch(Pod, to=lambda _: []), Chosen(Pod, by=lambda a, b: a.x)])(reconcile)",
    "operator.reconciler(Service, watches=[Reference(Pod, by=lambda one: one.spec.external_nmae)])(reconcile)",
    # A function for another kind, watched or reconciled.
    "operator.reconciler(Pod, watches=[Reference(Pod, by=used_by)])(reconcile_pod)",
    "operator.reconciler(Service, watches=[Watch(Pod, to=named_after)])(reconcile)",
    "operator.reconciler(Service, watches=[Chosen(ConfigMap, by=selects)])(reconcile)",
    "operator.reconciler(Pod, watches=[Chosen(Pod, by=selects)])(reconcile_pod)",
    # What is returned is not a key, and a watch is not a kind.
    "operator.reconciler(Service, watches=[Watch(Pod, to=lambda pod: [1])])(reconcile)",
    "operator.reconciler(Service, watches=[Reference(Pod, by=lambda one: 1)])(reconcile)",
    "operator.reconciler(Service, watches=[ConfigMap])(reconcile)",
    "operator.reconciler(Service, owns=[Owned(ConfigMap, labels='a=b')])(reconcile)",
    "operator.reconciler(Service, watches=[Watch(Pod, to=lambda _: [], selectr='a=b')])(reconcile)",
    "operator.reconciler(Service, priority=lambda service: service.lables)(reconcile)",
    "operator.reconciler(Service, priority=lambda service: service.name)(reconcile)",
    # The watches must not hide that the function is for another kind.
    "operator.reconciler(Service, watches=[Watch(ConfigMap, to=named_after)])(reconcile_pod)",
]
CHECKERS = {
    "mypy": ["mypy", "--strict", "--config-file=", f"--cache-dir={os.devnull}"],
    "pyright": ["basedpyright", "--level", "error", "--pythonpath", sys.executable],
}


def lines_with_errors(checker: str, folder: Path) -> set[str]:
    """Return the snippets in which a type checker finds an error."""
    program, *options = CHECKERS[checker]
    snippets = [*GOOD, *BAD]
    source = folder / "watches.py"
    source.write_text(BEFORE + "\n".join(snippets) + "\n")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    command = [str(Path(sys.executable).with_name(program)), *options, source.name]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - of this environment
    lines = source.read_text().splitlines()
    return {lines[int(line) - 1] for line in re.findall(r"watches\.py:(\d+):.*error: ", answer.stdout)}


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_wrong_watch_is_found_before_it_runs_and_a_right_one_passes(checker: str, tmp_path: Path) -> None:
    """The function runs when an object changes, perhaps long after the operator was deployed.

    A type that has to be ignored is worse than none, so the correct ones are checked as strictly.
    """
    assert lines_with_errors(checker, tmp_path) == set(BAD)
