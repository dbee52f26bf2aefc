"""The workflow files of a forge: what they run exists, and nothing in them can change by itself."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from steersman.json_types import JsonObject

FOLDER = Path(".github/workflows")
PATHS = sorted(FOLDER.glob("*.yml"))
#: An action, by the commit that was looked at, and the version that people know it by.
_PINNED = re.compile(r"^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
_MAKE = re.compile(r"make ([a-z$][^ ]*)")


def _jobs(path: Path) -> Iterator[JsonObject]:
    yield from yaml.safe_load(path.read_text())["jobs"].values()


def _targets(path: Path) -> Iterator[str]:
    """Yield every make target that a workflow runs, with those of its matrix."""
    for job in _jobs(path):
        for step in job.get("steps", ()):
            for target in _MAKE.findall(step.get("run", "")):
                yield from job["strategy"]["matrix"]["target"] if target.startswith("$") else [target]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_commit(path: Path) -> None:
    """A tag can be moved to other code, and that code would run with the rights of a release."""
    used = [line.partition("uses:")[2].strip() for line in path.read_text().splitlines() if "uses:" in line]
    assert used
    assert [one for one in used if not one.startswith("./") and not _PINNED.match(one)] == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_make_target_exists(path: Path) -> None:
    """A workflow runs what contributors can run; a renamed target is noticed here and not on the day of a release."""
    makefile = Path("Makefile").read_text()
    assert [target for target in _targets(path) if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_unless_a_job_says_otherwise(path: Path) -> None:
    """Only the job that publishes gets an identity, and no job a secret."""
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}
    assert "secrets." not in path.read_text()
    assert [job for job in _jobs(path) if "uses" not in job and "timeout-minutes" not in job] == []


def test_the_checks_include_every_step_of_ci() -> None:
    """What a submission must pass, a pull request must pass, too."""
    steps = set(re.findall(r"^\s*make ([a-z0-9-]+)", Path(".ci/run").read_text(), re.MULTILINE))
    covered = set(_targets(FOLDER / "checks.yml")) | {"test-pythons"}  # there, the whole suite runs on each Python
    assert steps <= covered


def test_the_kubernetes_versions_of_the_matrix_are_pinned() -> None:
    """The newest one is in `kubernetes/`, each other one in a folder of its own."""
    versions = yaml.safe_load((FOLDER / "checks.yml").read_text())["jobs"]["kubernetes"]["strategy"]["matrix"]
    folder = Path("tools/control_plane")
    newest = re.search(r"k8s.io/kubernetes v(\d+\.\d+)\.", (folder / "kubernetes" / "go.mod").read_text())
    assert newest is not None
    older = {path.name.partition("-")[2] for path in folder.glob("kubernetes-*")}
    assert set(versions["kubernetes"]) == {newest[1], *older}
