"""`steer` as a program: help that fits a screen, completion, errors in one sentence."""

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from steersman import cli
from steersman.cli import main


def commands() -> list[tuple[str, ...]]:
    """Return every command and subcommand."""
    found: list[tuple[str, ...]] = []
    context = click.Context(main)
    for name in main.list_commands(context):
        found.append((name,))
        command = main.get_command(context, name)
        if isinstance(command, click.Group):
            found += [(name, inner) for inner in command.list_commands(context)]
    return found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_the_help_of_each_command_fits_a_screen(command: tuple[str, ...]) -> None:
    """80 columns and 40 lines; a few more for `steer simulate`, which has options of its own for programs."""
    answer = CliRunner().invoke(main, [*command, "--help"], terminal_width=80)
    assert answer.exit_code == 0
    lines = answer.stdout.splitlines()
    assert len(lines) <= (44 if command == ("simulate",) else 40)
    assert max(map(len, lines)) <= 80
    assert "$ steer " in answer.stdout
    assert "INTEGER" not in answer.stdout, "a metavar says what is meant, not how it is stored"
    assert "TEXT" not in answer.stdout, "same"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((), ["CRD", "RBAC", "webhook", "leader election", "reconciler", "informer", "finalizer"]),
        (("create",), ["CRD", "webhook", "reconciler"]),
        (("create", "webhook"), ["admission", "validates", "defaults", "conversion", "CEL"]),
        (("run",), ["CRD", "leader election", "webhook", "probes", "metrics", "Lease"]),
        (("install",), ["CRD", "admission policies"]),
        (("uninstall",), ["CRD"]),
        (("deploy",), ["CRD", "RBAC", "webhook"]),
        (("manifests",), ["CRD", "RBAC", "webhook", "kustomize"]),
        (("migrate",), ["CRD", "storedVersions"]),
        (("generate",), ["CRD"]),
        (("doctor",), ["CRD", "RBAC", "webhook"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_help_contains_the_words_that_users_search_for(command: tuple[str, ...], words: list[str]) -> None:
    """A user who knows Kubernetes looks for its words."""
    shown = CliRunner().invoke(main, [*command, "--help"], terminal_width=200).stdout.lower()
    assert [word for word in words if word.lower() not in shown] == []


def test_help_loads_no_command_and_nothing_heavy() -> None:
    """`steer --help` may take 150 ms, and most of that is imports."""
    heavy = ("yaml", "msgspec", "ssl", "jinja2", "rich")
    # Not with click's own runner: on Python 3.14 it imports a debugger, asyncio and TLS itself.
    script = (
        "import atexit, sys; from steersman.cli import main\n"
        f"atexit.register(lambda: print('loaded', sorted(name for name in sys.modules if name in {heavy}\n"
        "    or name.startswith('steersman.'))))\n"
        "main(['--help'])"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603 - our own interpreter
    assert answer.stdout.startswith("Usage: ")
    assert answer.stdout.splitlines()[-1] == "loaded ['steersman.cli', 'steersman.lazy_names', 'steersman.version']"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_their_completion(shell: str) -> None:
    """The script calls back to steer."""
    answer = CliRunner().invoke(main, ["completion", shell])
    assert answer.exit_code == 0
    assert "_STEER_COMPLETE" in answer.stdout


def test_completion_offers_commands_and_their_options() -> None:
    """The request that a shell sends when the user presses Tab."""
    environment = {**os.environ, "_STEER_COMPLETE": "bash_complete", "COMP_WORDS": "steer un", "COMP_CWORD": "1"}
    program = [sys.executable, "-c", "from steersman.cli import main; main(prog_name='steer')"]
    answer = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)  # noqa: S603 - our own interpreter
    assert answer.stdout.split() == ["plain,uninstall", "plain,undeploy"]
    environment |= {"COMP_WORDS": "steer install --dr", "COMP_CWORD": "2"}
    answer = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)  # noqa: S603 - our own interpreter
    assert answer.stdout.split() == ["plain,--dry-run"]


def test_an_unknown_command_is_one_sentence() -> None:
    """A typo needs a short answer, not an explanation."""
    answer = CliRunner().invoke(main, ["instal"])
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1


def test_an_internal_error_is_one_sentence_that_says_how_to_see_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The traceback is shown on request."""

    @click.command("broken")
    def broken() -> None:
        raise RuntimeError("the sky is falling")

    monkeypatch.setattr(cli._Commands, "get_command", lambda *_: broken)
    answer = CliRunner().invoke(main, ["broken"])
    assert answer.exit_code == 70
    assert answer.stderr == "steer: RuntimeError: the sky is falling (steer --debug … shows where)\n"
    assert isinstance(CliRunner().invoke(main, ["--debug", "broken"]).exception, RuntimeError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["server", "--port", "70000"], "'70000' is not a port: pass a number from 0 to 65535"),
        (["server", "--port", "-1"], "'-1' is not a port"),
        (["run", "--grace", "soon"], "'soon' is not a number of seconds"),
        (["run", "--grace", "-1"], "'-1' is not a number of seconds"),
        (["run", "--grace", "nan"], "'nan' is not a number of seconds"),
    ],
)
def test_an_impossible_number_is_rejected(arguments: list[str], message: str) -> None:
    """One sentence with the value that was typed."""
    answer = CliRunner().invoke(main, arguments)
    assert answer.exit_code == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
