"""`steer pause` and `steer resume`, with a server in a separate process."""

import json
import subprocess

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main
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
    limited = _steer("pause", "cm/a", "--for", "1d2h", "--yes")
    assert limited.exit_code == 0, limited.output
    assert limited.stdout == f"cm/a is paused until {_annotations()[PAUSED]}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pause", "cm/b", "--yes"], 'configmaps "b" not found'),
        (["pause", "nothing/b", "--yes"], "nothing"),
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
