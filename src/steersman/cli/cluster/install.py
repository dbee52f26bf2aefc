"""`steer install`: create or update the CRDs of the operator's kinds in a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.cluster.target import Access, cluster_options, crds, run
from steersman.cli.target import load_operator, operator_option

if TYPE_CHECKING:
    from steersman.client.client import Client
    from steersman.manager.operator import Operator
    from steersman.objects.resource import Unstructured


@click.command("install", short_help="Create or update the CRDs in a cluster.")
@operator_option
@cluster_options
def command(*, target: str | None, kubeconfig: Path | None, context: str | None, yes: bool, dry_run: bool) -> None:
    """Create or update the CRDs of the operator's kinds, and their admission policies; wait until they are served.

    A conversion webhook that the CRD in the cluster has is kept. A kind that needs one is rejected if the CRD has none,
    because only a running operator can convert.

    \b
    Examples:
      $ steer install --dry-run
      $ steer install --context my-cluster
    """
    operator = load_operator(target)
    run(_install(operator, Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)))


async def _install(operator: "Operator", access: Access) -> None:
    from steersman.cli.cluster.applying import apply_all, forced_apply
    from steersman.manager.definitions import operator_definitions, operator_policies
    from steersman.manager.install import apply_definition, check_conversions
    from steersman.webhook.operator_webhooks import converted_definitions

    definitions, converted = operator_definitions([operator]), converted_definitions([operator])
    if not definitions:
        raise click.ClickException(f"operator {operator.name} declares no custom kinds: there are no CRDs to install")

    async def write(client: "Client", obj: "Unstructured") -> "Unstructured":
        if obj.gvk.kind != "CustomResourceDefinition":
            return await forced_apply(client, obj)
        return await apply_definition(client, obj, is_converted=obj.name in converted)

    async with access.connect(f"install {crds(len(definitions))}", manager=operator.name) as client:
        await check_conversions(client, definitions, converted)
        objects = [*definitions, *operator_policies([operator])]
        await apply_all(client, objects, dry_run=access.dry_run, write=write)
