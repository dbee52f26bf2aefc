"""`steer simulate --command`: a program under faults, from a folder of manifests to a report."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main

PROGRAM = Path(__file__).parents[2] / "simulation" / "binaries" / "pair_operator.py"
PAIR = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {pair: 'yes'}}\n"


def run(*arguments: str) -> Result:
    """Run `steer simulate` with the hasty program."""
    command = f"{sys.executable} -I -S {PROGRAM} {{kubeconfig}} hasty"
    return CliRunner().invoke(main, ["simulate", "--command", command, *arguments])


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    """Write a scenario of one step."""
    folder = tmp_path / "creation"
    folder.mkdir()
    (folder / "01-create.yaml").write_text(PAIR)
    return folder


def test_a_program_is_simulated_with_a_folder_of_manifests(steps: Path, tmp_path: Path) -> None:
    """A user with a binary and kubectl manifests needs no Python."""
    report, logs = tmp_path / "report.json", tmp_path / "logs"
    plan = ["--plan", "crash-after@write:1", "--quiet", "1", "--json", str(report), "--logs", str(logs)]
    result = run("--scenario", str(steps), *plan)
    assert result.exit_code == 1, result.output
    assert "creation: 1 of 1 plans failed" in result.stdout
    assert '-    "name": "a-2"' in result.stdout
    assert "1/1 plans, 1 failed" in result.stderr
    assert json.loads(report.read_text())["failures"][0]["plan"] == "crash-after@write:1"
    assert "started" in (logs / "crash-after@write-1.log").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--command needs --scenario"),
        (["--scenario", "nowhere"], "is neither a folder nor FILE.py:FUNCTION"),
        (["--scenario", "nowhere.py:f"], "there is no file nowhere.py"),
        (["--scenario", "json:nothing"], "there is no function 'nothing' in json"),
        (["--scenario", "{steps}", "--twice"], "--twice needs an operator in this process"),
        (["--scenario", "{steps}", "--faults", "stall"], "stall cannot be injected into a program"),
        (["--scenario", "{steps}", "--also-serve", "policy"], "is not OLD=NEW"),
        (["--scenario", "{steps}", "--crds", "{steps}"], "there is no CustomResourceDefinition in it"),
        (["--scenario", "{steps}", "--jobs", "0"], "at least one plan has to run at a time"),
    ],
)
def test_what_cannot_be_used_is_named(steps: Path, arguments: list[str], message: str) -> None:
    """Before a process is started, and with exit code 2."""
    result = run(*(argument.replace("{steps}", str(steps)) for argument in arguments))
    assert message in result.output
    assert result.exit_code == 2


@pytest.mark.parametrize("arguments", [["--faults", "stall"], ["--faults", "nonsense"], ["--plan", "nonsense"]])
def test_faults_and_plans_are_checked_before_a_process_is_started(
    steps: Path, tmp_path: Path, arguments: list[str]
) -> None:
    """The undisturbed runs of a program take seconds, and were made before a typing mistake was reported."""
    logs = tmp_path / "logs"
    result = run("--scenario", str(steps), "--logs", str(logs), *arguments)
    assert result.exit_code == 2
    assert arguments[1] in result.output
    assert not list(logs.glob("**/*"))


def test_a_program_that_cannot_be_found_is_named(steps: Path) -> None:
    """The most common mistake of all."""
    result = CliRunner().invoke(main, ["simulate", "--command", "./no-manager", "--scenario", str(steps)])
    assert "there is no program './no-manager'" in result.output
    assert result.exit_code == 2


def test_options_for_programs_need_a_program() -> None:
    """An option that would do nothing is refused."""
    result = CliRunner().invoke(main, ["simulate", "a:b", "--quiet", "1"])
    assert "--quiet is only for programs: pass --command too" in result.output
    assert result.exit_code == 2
