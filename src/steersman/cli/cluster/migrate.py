"""`steer migrate KIND`: rewrites stored objects in the current storage version, so that former ones can be removed."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from steersman.cli.cluster.target import Access, cluster_options, run

if TYPE_CHECKING:
    from steersman.client.client import Client
    from steersman.client.storage_migration import Migration, Progress
    from steersman.kinds.apiextensions_v1 import CustomResourceDefinition

#: How many refusals are shown.
_SHOWN = 5
#: Without a terminal, a line is printed after this many objects.
_LINE_EVERY = 1000


@click.command("migrate", short_help="Bring stored objects to the stored version.")
@click.argument("kind")
@cluster_options
def command(*, kind: str, kubeconfig: Path | None, context: str | None, yes: bool, dry_run: bool) -> None:
    """Rewrite every object of KIND in the storage version of its CRD; remove all others from status.storedVersions.

    KIND is a kind or a plural, with or without its group. Before a version can be removed from a CRD, its objects must
    be migrated. The command can be interrupted and repeated.

    \b
    Examples:
      $ steer migrate websites.example.com --dry-run
      $ steer migrate Website --context my-cluster
    """
    access = Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)
    run(_migrate(kind, access))


async def _migrate(kind: str, access: Access) -> None:
    from steersman.client.storage_migration import Migration, rewrite, trim

    async with access.connect(f"migrate {kind}", manager="steer") as client:
        migration = Migration.of(await _definition(client, kind))
        name, stored = migration.definition.name, migration.kind.version
        if not migration.former:
            click.echo(f"{name}: every object is already stored as {stored}")
            return
        if access.dry_run:
            await _show(client, migration)
            return
        with _ProgressLine(stored) as line:
            progress = await rewrite(client, migration.kind, line.show)
        if progress.refused:
            raise click.ClickException(_rejections(name, migration, progress))
        await trim(client, migration)
    click.echo(
        f"{name}: {progress.rewritten} objects rewritten as {stored}, {progress.untouched} were already; "
        f"{', '.join(migration.former)} can be removed from the CRD"
    )


async def _definition(client: "Client", kind: str) -> "CustomResourceDefinition":
    """Return a CRD by its kind, plural or short name."""
    from steersman.kinds.apiextensions_v1 import CustomResourceDefinition

    found = []
    async for definition in client.list(CustomResourceDefinition):
        names, group = definition.spec.names, definition.spec.group
        words = {names.kind, names.plural, names.singular, *(names.short_names or [])}
        if kind == definition.name or kind in words or kind in {f"{word}.{group}" for word in words}:
            found.append(definition)
    if not found:
        raise click.ClickException(f"this cluster has no CRD for {kind!r}: only objects of CRDs are migrated")
    if len(found) > 1:
        listed = ", ".join(definition.name for definition in found)
        raise click.ClickException(f"{kind!r} is ambiguous: pass one of {listed}")
    return found[0]


async def _show(client: "Client", migration: "Migration") -> None:
    from steersman.client.interfaces import ALL_NAMESPACES

    count = 0
    async for _ in client.list(migration.kind, namespace=ALL_NAMESPACES):
        count += 1
    click.echo(
        f"{migration.definition.name}: would rewrite those of {count} objects that are not stored as "
        f"{migration.kind.version}, and remove {', '.join(migration.former)} from status.storedVersions"
    )


def _rejections(name: str, migration: "Migration", progress: "Progress") -> str:
    shown = [f"  {key}: {reason}" for key, reason in list(progress.refused.items())[:_SHOWN]]
    more = len(progress.refused) - len(shown)
    head = (
        f"{name}: the server refused to write {len(progress.refused)} of {progress.seen} objects again, so "
        f"{', '.join(migration.former)} must stay; correct them and begin again:"
    )
    return "\n".join([head, *shown, *([f"  and {more} more"] if more > 0 else [])])


class _ProgressLine:
    """Shows the progress: in one line that changes, or without a terminal in a line from time to time."""

    def __init__(self, stored: str) -> None:
        self._stored = stored
        self._is_seen = sys.stderr.isatty()
        self._next = _LINE_EVERY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_seen:
            click.echo(err=True)

    def show(self, progress: "Progress") -> None:
        """Show the progress."""
        text = f"{progress.seen} objects, {progress.rewritten} rewritten as {self._stored}"
        if self._is_seen:
            click.echo(f"\r{text}", err=True, nl=False)
        elif progress.seen >= self._next:
            self._next = progress.seen + _LINE_EVERY
            click.echo(text, err=True)
