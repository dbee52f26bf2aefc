"""`steer uninstall`: delete the CRDs of the operator's kinds from a cluster, unless there are objects."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.cluster.target import Access, cluster_options, crds, run
from steersman.cli.target import load_operator, operator_option

if TYPE_CHECKING:
    from steersman.client.client import Client
    from steersman.manager.operator import Operator
    from steersman.objects.resource import Unstructured

#: Seconds for the objects of a definition to go; finalizers may need their operator for that.
_PATIENCE = 60.0


@click.command("uninstall", short_help="Delete the CRDs from a cluster.")
@operator_option
@click.option("--with-objects", is_flag=True, help="Delete the CRDs together with all their objects.")
@cluster_options
def command(
    *, target: str | None, with_objects: bool, kubeconfig: Path | None, context: str | None, yes: bool, dry_run: bool
) -> None:
    """Delete the CRDs of the operator; fails while objects exist, because they would be deleted too.

    \b
    Example:
      $ steer uninstall --context my-cluster
    """
    operator = load_operator(target)
    access = Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)
    run(_uninstall(operator, access, with_objects=with_objects))


async def _uninstall(operator: "Operator", access: Access, *, with_objects: bool) -> None:
    from steersman.cli.cluster.applying import delete_all
    from steersman.manager.definitions import operator_definitions, operator_policies

    definitions = operator_definitions([operator])
    async with access.connect(f"delete {crds(len(definitions))}", manager=operator.name) as client:
        if not with_objects:
            await _refuse_objects(client, definitions)
        await delete_all(client, [*definitions, *operator_policies([operator])], dry_run=access.dry_run)
        if not access.dry_run:
            for definition in definitions:
                await client.wait_deleted(definition, timeout=_PATIENCE)


async def _refuse_objects(client: "Client", definitions: list["Unstructured"]) -> None:
    from steersman.client.interfaces import ALL_NAMESPACES
    from steersman.errors import KindNotServed
    from steersman.objects.identity import GroupVersionKind

    for definition in definitions:
        spec = definition.content["spec"]
        stored = next(version["name"] for version in spec["versions"] if version["storage"])
        gvk = GroupVersionKind(spec["group"], stored, spec["names"]["kind"])
        try:
            count = len([obj async for obj in client.list(gvk, namespace=ALL_NAMESPACES)])
        except KindNotServed:
            continue
        if count:
            names = spec["names"]["plural"]
            raise click.ClickException(
                f"{count} objects of {names} would be deleted with their CRD: delete them first, or pass --with-objects"
            )
