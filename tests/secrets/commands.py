"""`steer` with secrets in its input: everything that it prints is checked, tracebacks too."""

from pathlib import Path

from click.testing import CliRunner

from steersman.cli import main
from steersman.scaffold.difference import difference
from tests.secrets.canaries import Canaries
from tests.secrets.contents import coded, secret
from tests.secrets.credentials import kubeconfigs

_COMMANDS = (
    ("--debug", "migrate", "Site", "--yes"),
    ("migrate", "Site", "--yes"),
    ("doctor",),
    ("generate", "models", "--from", "cluster"),
)


def run_commands(canaries: Canaries, folder: Path) -> None:
    """Run commands with every kubeconfig; none of them reaches a server."""
    path = folder / "config"
    for number, text in enumerate(kubeconfigs(canaries, folder)):
        path.write_text(text)
        command = _COMMANDS[number % len(_COMMANDS)]
        answer = CliRunner(env={"KUBECONFIG": str(path)}).invoke(main, command)
        canaries.see("what steer writes", answer.output)
        if answer.exception is not None:
            canaries.see_failure("the traceback of steer", answer.exception)
    before = secret("a", data={"a": coded(canaries.plant("data before a dry run"))})
    after = secret("a", data={"a": coded(canaries.plant("data after a dry run"))})
    for one, other in ((before, after), (None, after), (before, None)):
        canaries.see("what a dry run shows", difference("Secret a", one, other))
