"""`steer deploy`: deploy the operator to a cluster, with CRDs, RBAC roles and webhooks."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.cluster.target import Access, cluster_options, run
from steersman.cli.parameters import SECONDS
from steersman.cli.target import declared, image_option, operator_option

if TYPE_CHECKING:
    from steersman.cli.plan.deployment import Deployment
    from steersman.cli.target import Declared
    from steersman.client.client import Client
    from steersman.objects.resource import Unstructured

_MONITORING = "monitoring.coreos.com"


@click.command("deploy", short_help="Deploy the operator to a cluster, with CRDs, RBAC and webhooks.")
@operator_option
@image_option
@click.option("--plan", "plan", is_flag=True, help="Show what the operator would do, then ask.")
@click.option("--wait/--no-wait", default=True, help="Wait until its pods are ready; default: --wait.")
@click.option("--timeout", type=SECONDS, default=300.0, help="Seconds to wait for them; default: 300.")
@cluster_options
def command(  # noqa: PLR0913 - the options of the command, each by its name
    *,
    target: str | None,
    image: str,
    plan: bool,
    wait: bool,
    timeout: float,
    kubeconfig: Path | None,
    context: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Apply what `steer manifests` writes (CRDs, RBAC, webhooks, Deployment), and wait until the operator runs.

    If its pods do not become ready, the reason and the last lines of their log are shown. An existing namespace is not
    changed. With --plan, the changes that this version of the operator would make are shown first (see `steer plan`),
    and confirmation is asked for even with --context.

    \b
    Examples:
      $ steer deploy --image registry.example.com/custompod:1.0 --dry-run
      $ steer deploy --image registry.example.com/custompod:1.0 --context a
      $ steer deploy --image registry.example.com/custompod:1.1 --plan
    """
    access = Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)
    patience = timeout if wait else None
    if not plan:
        run(_deploy(declared(target, image), access, patience))
        return
    from steersman.cli.plan.deployment import deployment_of

    deployment = deployment_of(Path.cwd())
    with deployment.variables_set():
        run(_deploy(declared(target, image), access, patience, deployment))


async def _deploy(
    found: "Declared", access: Access, patience: float | None, planned: "Deployment | None" = None
) -> None:
    from steersman.cli.cluster.applying import apply_all, forced_apply
    from steersman.cli.cluster.ownership import adapted, ensure_namespace
    from steersman.cli.cluster.rollout import RolloutWait
    from steersman.clock import RealClock
    from steersman.objects.resource import Unstructured
    from steersman.scaffold.manifests.plain import all_objects

    async def write(client: "Client", obj: Unstructured) -> Unstructured:
        if obj.gvk.kind == "Namespace":
            return await ensure_namespace(client, obj, dry_run=access.dry_run)
        return await forced_apply(client, await adapted(client, obj))

    name, namespace = found.operator.name, found.shape.namespace
    objects = [Unstructured(obj) for obj in all_objects(found.operator, found.shape)]
    what = f"deploy {found.shape.image} to namespace {namespace}"
    async with access.connect(what, manager=name, ask=planned is None) as client:
        if planned is not None:
            await _confirm_plan(found, client, access, planned)
        objects = [obj for obj in objects if await _is_served(client, obj)]
        await apply_all(client, objects, dry_run=access.dry_run, write=write)
        if patience is not None and not access.dry_run:
            await RolloutWait(client, name, namespace, RealClock(), click.echo).run(patience)


async def _confirm_plan(found: "Declared", client: "Client", access: Access, deployment: "Deployment") -> None:
    """Show what the operator would do once it is deployed, and ask; no option confirms a plan with failures."""
    from steersman.cli.plan.making import planned, show
    from steersman.planning.planner import PlanOptions

    options = PlanOptions(namespaces=deployment.watch, notes_side_effects=True)
    plan = await planned([found.operator], client.transport, options, notes=deployment.notes)
    show(plan)
    if plan.failures and access.yes and not access.dry_run:
        raise click.ClickException(
            "nothing was changed: the plan has failures, and --yes does not confirm them; correct them, answer the "
            "question without --yes, or deploy without --plan"
        )
    access.confirm(context_decides=False)


async def _is_served(client: "Client", obj: "Unstructured") -> bool:
    """Return whether an object can be applied; only kinds of the Prometheus operator may be missing."""
    from steersman.cli.cluster.applying import shown
    from steersman.errors import KindNotServed

    if obj.gvk.group != _MONITORING:
        return True
    try:
        await client.discovery.resource(obj.gvk)
    except KindNotServed:
        click.echo(f"{shown(obj)} left out: the cluster has no Prometheus operator, which defines its kind")
        return False
    return True
