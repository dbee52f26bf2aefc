"""`steer undeploy`: remove the operator from a cluster; the CRDs and their objects stay.

The order: first what leads to the operator, then its pods. Permissions are deleted only after the pods have ended,
because an ending operator still writes its last status and its lease. The namespace is deleted last, if `steer` created
it and nothing else is in it.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from steersman.cli.cluster.target import Access, cluster_options, run
from steersman.cli.target import declared, operator_option

if TYPE_CHECKING:
    from steersman.cli.target import Declared
    from steersman.client.client import Client
    from steersman.controller.declaration import Reconciler
    from steersman.objects.resource import Unstructured

#: Seconds that pods get beyond their own grace period, and between looks at them.
_MORE: Final = 30.0
_LOOK_EVERY: Final = 0.5
#: Seconds after which a lease that was not renewed is taken as left behind: several times its duration.
_LEFT_BEHIND: Final = 60.0


@click.command("undeploy", short_help="Remove the operator from a cluster; the CRDs stay.")
@operator_option
@click.option("--wait/--no-wait", default=True, help="Delete permissions after its pods have stopped; default: --wait.")
@cluster_options
def command(
    *, target: str | None, wait: bool, kubeconfig: Path | None, context: str | None, yes: bool, dry_run: bool
) -> None:
    """Delete what `steer deploy` created except the CRDs: `steer uninstall` deletes those.

    Objects and namespaces that existed before are kept, and so is a namespace that contains other objects. Before it
    asks for confirmation, it lists what will not work without the operator.

    \b
    Example:
      $ steer undeploy --context my-cluster
    """
    access = Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)
    run(_undeploy(declared(target), access, wait=wait))


async def _undeploy(found: "Declared", access: Access, *, wait: bool) -> None:
    what = f"remove operator {found.operator.name} from namespace {found.shape.namespace}"
    async with access.connect(what, manager=found.operator.name, ask=False) as client:
        async for consequence in _consequences(client, found):
            click.echo(f"note: {consequence}", err=True)
        access.confirm()
        await _remove(client, found, dry_run=access.dry_run, wait=wait)


async def _consequences(client: "Client", found: "Declared") -> AsyncIterator[str]:
    """Yield what users will notice."""
    from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
    from steersman.webhook.operator_webhooks import converted_definitions

    for reconciler in found.operator.reconcilers:
        if reconciler.cleanup_function is None:
            continue
        held, deleting = await _held_objects(client, reconciler)
        if held:
            waiting = f", and {deleting} of them are being deleted" if deleting else ""
            yield (
                f"{held} {reconciler.resource.gvr.group_resource} have the finalizer {reconciler.finalizer}{waiting}: "
                "without the operator they cannot be deleted; delete them first, or deploy it again"
            )
    for name in converted_definitions([found.operator]):
        if await client.try_get(CustomResourceDefinition, name) is not None:
            yield f"without the operator only the stored version of {name} can be read and written"


async def _held_objects(client: "Client", reconciler: "Reconciler[Any]") -> tuple[int, int]:
    """Return how many objects have the finalizer of a reconciler, and how many of those are being deleted."""
    from steersman.client.interfaces import ALL_NAMESPACES
    from steersman.errors import ApiError

    held = deleting = 0
    try:
        async for obj in client.list(reconciler.resource.gvk, namespace=ALL_NAMESPACES):
            metadata = obj.content["metadata"]
            if reconciler.finalizer in (metadata.get("finalizers") or ()):
                held += 1
                deleting += "deletionTimestamp" in metadata
    except ApiError as error:
        click.echo(f"note: {reconciler.resource.gvr.group_resource} cannot be looked at: {error}", err=True)
    return held, deleting


async def _remove(client: "Client", found: "Declared", *, dry_run: bool, wait: bool) -> None:
    from steersman.cli.cluster.applying import delete_one, find, shown
    from steersman.cli.cluster.ownership import is_ours
    from steersman.objects.resource import Unstructured
    from steersman.protocol.options import DeleteOptions
    from steersman.scaffold.manifests.plain import all_objects

    made = [Unstructured(obj) for obj in all_objects(found.operator, found.shape)]
    namespace: Unstructured | None = None
    ended: frozenset[str] = frozenset()
    for obj in reversed(made):
        if obj.gvk.kind == "CustomResourceDefinition":
            continue
        if obj.gvk.kind == "Namespace":
            namespace = obj
            continue
        live = await find(client, obj)
        if live is not None and not is_ours(live):
            click.echo(f"{shown(obj)} kept: it was there before the operator")
            continue
        is_workload = obj.gvk.kind == "Deployment"
        # In the foreground: it is deleted only after its pods are.
        options = DeleteOptions(propagation_policy="Foreground") if is_workload else None
        await delete_one(client, obj, dry_run=dry_run, options=options)
        if is_workload and wait and not dry_run:
            ended = await _pods_ended(client, found)
    await _remove_runtime_objects(client, found, ended, dry_run=dry_run)
    if namespace is not None:
        await _remove_namespace(client, namespace, dry_run=dry_run)


async def _pods_ended(client: "Client", found: "Declared") -> frozenset[str]:
    """Wait until the operator has no pods any more; return the names of those that have ended."""
    from steersman.cli.cluster.rollout import operator_pods
    from steersman.clock import RealClock

    clock, seconds = RealClock(), found.shape.termination_seconds + _MORE
    until, told = clock.monotonic() + seconds, 0
    ended: frozenset[str] = frozenset()
    while pods := await operator_pods(client, found.operator.name, found.shape.namespace):
        ended |= {pod.name for pod in pods}
        if len(pods) != told:
            told = len(pods)
            click.echo(f"waiting for {told} {'pod' if told == 1 else 'pods'} to end")
        if clock.monotonic() >= until:
            names = ", ".join(pod.name for pod in pods)
            raise click.ClickException(
                f"{names} did not end in {seconds:g} s; permissions were kept for them: run 'steer undeploy' again "
                "when they have, or with --no-wait"
            )
        await clock.sleep(_LOOK_EVERY)
    return ended


async def _remove_runtime_objects(client: "Client", found: "Declared", ended: frozenset[str], *, dry_run: bool) -> None:
    """Delete what the operator itself made in its namespace: its Leases, and the certificates of its webhooks."""
    from steersman.cli.cluster.applying import delete_one
    from steersman.webhook.registration.configurations import secret_name

    name, namespace = found.operator.name, found.shape.namespace
    await _remove_leases(client, found, ended, dry_run=dry_run)
    if not found.shape.webhook_secret:
        secret = _reference("v1", "Secret", secret_name(name), namespace)
        if await client.try_get(secret.gvk, secret.name, namespace) is not None:
            await delete_one(client, secret, dry_run=dry_run)


async def _remove_leases(client: "Client", found: "Declared", ended: frozenset[str], *, dry_run: bool) -> None:
    """Delete the Leases of the operator, except those that a process outside of its ended pods still renews."""
    from steersman.cli.cluster.applying import delete_one
    from steersman.clock import RealClock
    from steersman.kinds.coordination_v1 import Lease
    from steersman.manager.leader.shard_election import LABEL, table_name

    name, namespace = found.operator.name, found.shape.namespace
    single = await client.try_get(Lease, name, namespace)
    sharded = [one async for one in client.list(Lease, namespace=namespace, label_selector=f"{LABEL}={name}")]
    # The table of shards has no holder: whether it is in use is known after all others.
    leases = sorted([*([single] if single else []), *sharded], key=lambda lease: lease.name == table_name(name))
    is_used = False
    for lease in leases:
        holder, renewed = lease.spec.holder_identity or "", lease.spec.renew_time
        age = (RealClock().now() - renewed).total_seconds() if renewed is not None else _LEFT_BEHIND
        # An identity is the name of the pod, and a number for each process in it.
        if holder and holder.rpartition("_")[0] not in ended and age < _LEFT_BEHIND:
            is_used = True
            click.echo(f"Lease {namespace}/{lease.name} kept: {holder} renewed it {age:.0f} s ago")
        elif is_used and lease.name == table_name(name):
            click.echo(f"Lease {namespace}/{lease.name} kept: a replica still works with it")
        else:
            reference = _reference("coordination.k8s.io/v1", "Lease", lease.name, namespace)
            await delete_one(client, reference, dry_run=dry_run)


def _reference(api_version: str, kind: str, name: str, namespace: str) -> "Unstructured":
    from steersman.objects.resource import Unstructured

    return Unstructured({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}})


async def _remove_namespace(client: "Client", namespace: "Unstructured", *, dry_run: bool) -> None:
    """Delete the namespace if it is ours and nothing else is in it."""
    from steersman.cli.cluster.ownership import content_of, is_ours

    name = namespace.name
    live = await client.try_get(namespace.gvk, name)
    if live is None:
        click.echo(f"Namespace {name} is not there")
        return
    if not is_ours(live):
        click.echo(f"Namespace {name} kept: 'steer deploy' did not create it")
        return
    if dry_run:
        click.echo(f"Namespace {name} would be deleted if nothing else is in it")
        return
    if content := await content_of(client, name):
        click.echo(f"Namespace {name} kept: there are {', '.join(content)} in it")
        return
    await client.delete(live, missing_ok=True)
    click.echo(f"Namespace {name} deleted")
