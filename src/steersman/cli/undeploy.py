"""`steer undeploy`: remove the operator from a cluster; the CRDs and their objects stay."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.cluster import Access, cluster_options, run
from steersman.cli.target import declared, operator_option

if TYPE_CHECKING:
    from steersman.cli.target import Declared


@click.command("undeploy", short_help="Remove the operator from a cluster; the CRDs stay.")
@operator_option
@cluster_options
def command(*, target: str | None, kubeconfig: Path | None, context: str | None, yes: bool, dry_run: bool) -> None:
    """Delete everything that `steer deploy` created except the CRDs: `steer uninstall` deletes those.

    \b
    Example:
      $ steer undeploy --context my-cluster
    """
    run(_undeploy(declared(target), Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)))


async def _undeploy(found: "Declared", access: Access) -> None:
    from steersman.cli.applying import delete_all
    from steersman.objects.resource import Unstructured
    from steersman.scaffold.manifests.plain import all_objects

    made = [Unstructured(obj) for obj in all_objects(found.operator, found.shape)]
    # In reverse: the operator ends before it loses its permissions.
    objects = [obj for obj in reversed(made) if obj.gvk.kind != "CustomResourceDefinition"]
    what = f"remove operator {found.operator.name} from namespace {found.shape.namespace}"
    async with access.connect(what, manager=found.operator.name) as client:
        await delete_all(client, objects, dry_run=access.dry_run)
