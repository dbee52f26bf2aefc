"""Make a plan for a command: connect, run the operators with their output out of the way, print the result."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.plan.operator_output import operator_output

if TYPE_CHECKING:
    from steersman.json_types import JsonObject
    from steersman.manager.operator import Operator
    from steersman.planning.plan import Plan
    from steersman.planning.planner import PlanOptions
    from steersman.transport.base import Transport

#: Objects between two lines of progress where the output is not a terminal.
_OBJECTS_PER_LINE = 1000


@dataclass(frozen=True, slots=True)
class Where:
    """The cluster that is planned."""

    kubeconfig: Path | None
    context: str | None
    user: str | None = None

    def arguments(self) -> list[str]:
        """Return the options of the command that name this cluster."""
        file = self.kubeconfig and self.kubeconfig.absolute()
        named = {"--kubeconfig": file, "--context": self.context, "--as": self.user}
        return [text for option, value in named.items() if value for text in (option, str(value))]

    @asynccontextmanager
    async def connect(self) -> AsyncIterator["tuple[Transport, str]"]:
        """Connect; yield the transport and the default namespace."""
        from msgspec.structs import replace

        from steersman.clock import RealClock
        from steersman.transport.auth.credentials import Impersonation
        from steersman.transport.config import ClusterConfig
        from steersman.transport.http.transport import HttpTransport

        config = ClusterConfig.load(self.kubeconfig, context=self.context)
        if self.user:
            config = replace(config, impersonation=Impersonation(user=self.user))
        transport = HttpTransport(config, clock=RealClock())
        try:
            yield transport, config.namespace
        finally:
            await transport.close()


async def planned(
    operators: "Sequence[Operator]",
    transport: "Transport",
    options: "PlanOptions",
    *,
    notes: tuple[str, ...] = (),
    verbose: bool = False,
) -> "Plan":
    """Return the plan of operators, with a line of progress on the terminal; ``verbose`` shows their log."""
    from msgspec.structs import replace

    from steersman.clock import RealClock
    from steersman.history.redaction import SecretMemory, without_credentials
    from steersman.planning.planner import make_plan
    from steersman.planning.redaction import Redaction

    redaction = Redaction(SecretMemory(), options.hash_key)
    progress = _Progress()
    try:
        with operator_output(lambda text: without_credentials(redaction.text(text)), verbose=verbose):
            plan = await make_plan(
                operators, transport, options, clock=RealClock(), on_progress=progress.show, redaction=redaction
            )
    finally:
        progress.end()
    return replace(plan, notes=(*plan.notes, *notes))


def show(plan: "Plan", output: str = "text") -> None:
    """Print a plan."""
    from steersman.planning.document import plan_document
    from steersman.planning.text import plan_text

    if output == "text":
        click.echo(plan_text(plan, lambda text, colour: click.style(text, fg=colour)))
    else:
        print_document(plan_document(plan), output)


def print_document(document: "JsonObject", output: str) -> None:
    """Print a document as JSON or YAML."""
    if output == "json":
        import json

        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        from steersman.golang.yaml_writer import write_yaml

        click.echo(write_yaml([document]), nl=False)


class _Progress:
    """A line that counts planned objects: rewritten on a terminal, otherwise printed now and then."""

    def __init__(self) -> None:
        self._shown = 0
        self._is_terminal = sys.stderr.isatty()

    def show(self, done: int, known: int) -> None:
        """Show the number of objects that were planned."""
        if done == self._shown or (not self._is_terminal and done - self._shown < _OBJECTS_PER_LINE):
            return
        self._shown = done
        line = f"planned {done:,} of {known:,} objects"
        click.echo(f"\r\x1b[K{line}" if self._is_terminal else line, nl=not self._is_terminal, err=True)

    def end(self) -> None:
        """Remove the line."""
        if self._is_terminal and self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
