"""`steer pause` and `steer resume`, with a server in a separate process."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main
from steersman.cli.dev.announcement import announced, announced_kubeconfigs
from steersman.controller.run.pause import PAUSED
from tests.cli.conftest import RunningServer
from tests.support.kubectl import KUBECTL


def _steer(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(main, arguments, input=answer)


def _kubectl(*arguments: str) -> str:
    return subprocess.run([KUBECTL, *arguments], capture_output=True, text=True, check=True).stdout  # noqa: S603 - the test's own tool


def _annotations() -> dict[str, str]:
    found = json.loads(_kubectl("get", "configmap", "a", "-o", "json"))
    annotations: dict[str, str] = found["metadata"].get("annotations", {})
    return annotations


def test_an_object_is_paused_and_resumed(server: RunningServer) -> None:
    """Any name of its kind is accepted; the command asks first, and a dry run writes nothing."""
    _kubectl("create", "configmap", "a")
    refused = _steer("pause", "cm/a", answer="n\n")
    assert refused.exit_code == 1
    assert f"pause cm/a: context steersman at {server.url}" in refused.stderr
    assert _steer("pause", "configmap/a", "--dry-run").stdout == "configmap/a is paused (dry run)\n"
    assert PAUSED not in _annotations()
    assert _steer("pause", "configmaps/a", "--yes").stdout == "configmaps/a is paused\n"
    assert _annotations()[PAUSED] == "true"
    assert _steer("resume", "cm/a", "--yes").stdout == "cm/a is reconciled again\n"
    assert PAUSED not in _annotations()
    assert _steer("resume", "cm/a", "--yes").stdout == "cm/a is not paused\n"
    limited = _steer("pause", "cm/a", "--for", "1d2h", "--yes")
    assert limited.exit_code == 0, limited.output
    assert limited.stdout == f"cm/a is paused until {_annotations()[PAUSED]}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pause", "cm/b", "--yes"], 'configmaps "b" not found'),
        (["pause", "nothing/b", "--yes"], "nothing"),
        (["resume", "cm/b", "--yes"], 'configmaps "b" not found'),
        (["resume", "cm"], "'cm' is not KIND/NAME"),
        (["pause", "cm/a", "--for", "soon"], "'soon' is not a length of time such as 30m"),
        (["pause", "cm/a", "--for", "99999999999d"], "is longer than 3650d"),
        (["pause", "cm/a/b"], "'cm/a/b' is not KIND/NAME"),
    ],
)
@pytest.mark.usefixtures("server")
def test_a_mistake_is_reported_in_one_sentence(arguments: list[str], said: str) -> None:
    """Most of them are typing errors."""
    found = _steer(*arguments)
    assert found.exit_code in (1, 2)
    assert said in found.stderr
    assert "Traceback" not in found.output


@pytest.fixture
def own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the search to processes of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.mark.usefixtures("own_runtime")
def test_without_a_named_cluster_that_of_steer_dev_is_used(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An author who inspects an object with `steer why` pauses it there, not in the cluster of ~/.kube/config."""
    _kubectl("create", "configmap", "a")
    with announced(server.kubeconfig):
        monkeypatch.delenv("KUBECONFIG")
        paused = _steer("pause", "cm/a")
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    assert paused.exit_code == 0, paused.output
    assert f"pause cm/a in the cluster of `steer dev`: context steersman at {server.url}" in paused.stderr
    assert _annotations()[PAUSED] == "true"
    assert announced_kubeconfigs() == []


@pytest.mark.usefixtures("own_runtime")
def test_a_cluster_that_the_user_names_takes_precedence_over_steer_dev(server: RunningServer, tmp_path: Path) -> None:
    """Also by the environment; then the command asks for confirmation as always."""
    other = tmp_path / "other"
    other.touch()
    with announced(other):
        refused = _steer("pause", "cm/a", answer="n\n")
    assert refused.exit_code == 1
    assert f"pause cm/a: context steersman at {server.url}" in refused.stderr


@pytest.mark.usefixtures("own_runtime")
def test_with_several_steer_dev_the_user_must_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest is not always the right one."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "one").touch()
    (tmp_path / "two").touch()
    with announced(tmp_path / "one"):
        (tmp_path / f"steersman/{os.getppid()}.dev").write_text(str(tmp_path / "two"))
        found = _steer("pause", "cm/a")
    assert found.exit_code == 1
    assert "several `steer dev` run: pass the --kubeconfig of one of them: " in found.stderr


@pytest.mark.usefixtures("own_runtime")
def test_a_killed_steer_dev_is_ignored(tmp_path: Path) -> None:
    """It could not remove its file, and its cluster no longer exists."""
    (tmp_path / "kubeconfig").touch()
    with announced(tmp_path / "kubeconfig"):
        own = next((tmp_path / "steersman").glob("*.dev"))
        own.rename(own.with_name("999999999.dev"))
        assert announced_kubeconfigs() == []
