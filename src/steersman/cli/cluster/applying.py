"""Apply and delete objects one by one, printing what became of each; or in a dry run, what would."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

import click

from steersman.json_types import JsonObject

if TYPE_CHECKING:
    from steersman.client.client import Client
    from steersman.objects.resource import Unstructured
    from steersman.protocol.options import DeleteOptions


#: Writes one object and returns it as the server has it then.
Write: TypeAlias = "Callable[[Client, Unstructured], Awaitable[Unstructured]]"


def shown(obj: "Unstructured") -> str:
    """Return kind, namespace and name of an object."""
    place = f"{obj.namespace}/" if obj.namespace else ""
    return f"{obj.gvk.kind} {place}{obj.name}"


async def forced_apply(client: "Client", obj: "Unstructured") -> "Unstructured":
    """Apply an object, taking over fields of other managers."""
    return await client.apply(obj, force=True)


async def apply_all(
    client: "Client", objects: Iterable["Unstructured"], *, dry_run: bool, write: Write = forced_apply
) -> None:
    """Apply objects in order, and wait for CRDs, so that objects of their kinds can follow."""
    for obj in objects:
        if dry_run:
            await _show(client, obj, write)
            continue
        before = await find(client, obj)
        applied = await write(client, obj)
        if obj.gvk.kind == "CustomResourceDefinition":
            await client.wait_established(applied, timeout=60)
        unchanged = before is not None and before.resource_version == applied.resource_version
        click.echo(f"{shown(obj)} {'unchanged' if unchanged else 'created' if before is None else 'changed'}")


async def delete_all(client: "Client", objects: Iterable["Unstructured"], *, dry_run: bool) -> None:
    """Delete objects in order; missing ones are skipped."""
    for obj in objects:
        await delete_one(client, obj, dry_run=dry_run)


async def delete_one(
    client: "Client", obj: "Unstructured", *, dry_run: bool, options: "DeleteOptions | None" = None
) -> bool:
    """Delete an object and print the result; return whether it existed."""
    found = await find(client, obj)
    if found is None:
        click.echo(f"{shown(obj)} does not exist")
    elif dry_run:
        click.echo(f"{shown(obj)} would be deleted")
    else:
        await client.delete(obj, options=options, missing_ok=True)
        click.echo(f"{shown(obj)} deleted")
    return found is not None


async def find(client: "Client", obj: "Unstructured") -> "Unstructured | None":
    """Return an object as the cluster has it; ``None`` also if its kind is not served."""
    from steersman.errors import KindNotServed

    try:
        return await client.try_get(obj.gvk, obj.name, obj.namespace or None)
    except KindNotServed:
        return None


async def _show(client: "Client", obj: "Unstructured", write: Write) -> None:
    from steersman.errors import NotFound
    from steersman.scaffold.difference import difference

    before = await find(client, obj)
    after: JsonObject
    try:
        after = (await write(client.dry_run(), obj)).content
    except NotFound:  # its kind or namespace would be made by an earlier object
        after = obj.content
    changes = difference(shown(obj), before.content if before is not None else None, after)
    click.echo("\n".join(map(_coloured, changes.splitlines())) or f"{shown(obj)} would not change")


def _coloured(line: str) -> str:
    """Colour a line of a diff; click removes colours if the output is not a terminal."""
    if line.startswith(("+++", "---")):
        return click.style(line, bold=True)
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line
