"""`steer deploy`: deploy the operator to a cluster, with CRDs, RBAC roles and webhooks."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.cluster import Access, cluster_options, run
from steersman.cli.target import declared, image_option, operator_option

if TYPE_CHECKING:
    from steersman.cli.target import Declared


@click.command("deploy", short_help="Deploy the operator to a cluster, with CRDs, RBAC and webhooks.")
@operator_option
@image_option
@cluster_options
def command(
    *, target: str | None, image: str, kubeconfig: Path | None, context: str | None, yes: bool, dry_run: bool
) -> None:
    """Apply everything that `steer manifests` writes: CRDs, RBAC roles, webhooks and the Deployment.

    \b
    Examples:
      $ steer deploy --image registry.example.com/custompod:1.0 --dry-run
      $ steer deploy --image registry.example.com/custompod:1.0 --context a
    """
    access = Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)
    run(_deploy(declared(target, image), access))


async def _deploy(found: "Declared", access: Access) -> None:
    from steersman.cli.applying import apply_all
    from steersman.objects.resource import Unstructured
    from steersman.scaffold.manifests.plain import all_objects

    objects = [Unstructured(obj) for obj in all_objects(found.operator, found.shape)]
    what = f"deploy {found.shape.image} to namespace {found.shape.namespace}"
    async with access.connect(what, manager=found.operator.name) as client:
        await apply_all(client, objects, dry_run=access.dry_run)
