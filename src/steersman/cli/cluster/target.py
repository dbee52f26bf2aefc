"""The cluster that a command works on: it is named, and before the first write the user is asked.

No question is asked where the user has decided already: with ``--yes``, by naming a ``--context``, or with
``--dry-run``, which writes nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from steersman.client.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The chosen cluster, and whether the user confirmed."""

    kubeconfig: Path | None
    context: str | None
    yes: bool
    dry_run: bool

    @asynccontextmanager
    async def connect(self, what: str, *, manager: str, ask: bool = True) -> AsyncIterator["Client"]:
        """Connect under a field manager; first print the cluster and what will happen, and ask.

        A command that prints more before the question passes ``ask=False`` and calls ``confirm`` itself.
        """
        from steersman.client.client import Client
        from steersman.transport.config import ClusterConfig

        config = ClusterConfig.load(self.kubeconfig, context=self.context)
        place = f"context {config.context or '(none)'} at {config.server}"
        click.echo(f"{'would ' if self.dry_run else ''}{what}: {place}", err=True)
        if ask:
            self.confirm()
        async with Client.connect_to(config, field_manager=manager) as client:
            yield client

    def confirm(self, *, context_decides: bool = True) -> None:
        """Ask for confirmation, unless it was given already; raise ``ClickException`` without it.

        With ``context_decides`` a named context counts as confirmation.
        """
        if self.yes or self.dry_run or (self.context and context_decides):
            return
        try:
            agreed = click.confirm("Continue?", err=True)
        except click.Abort:
            options = "--yes or --context" if context_decides else "--yes"
            raise click.ClickException(f"nothing was changed: no confirmation given; pass {options}") from None
        if not agreed:
            raise click.ClickException("nothing was changed")


def cluster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that writes to a cluster."""
    options = (
        click.option("--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), help="Kubeconfig file."),
        click.option("--context", metavar="NAME", help="Context of the kubeconfig; also skips the question."),
        click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation."),
        click.option("--dry-run", is_flag=True, help="Change nothing; show what would change."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def crds(count: int) -> str:
    """Return a number of CRDs as text."""
    return f"{count} CRD" if count == 1 else f"{count} CRDs"


def run(work: Awaitable[None]) -> None:
    """Run the asynchronous part of a command."""

    async def main() -> None:
        await work

    asyncio.run(main())
