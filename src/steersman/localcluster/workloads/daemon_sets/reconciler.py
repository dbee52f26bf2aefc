"""DaemonSets: a pod on every node that they choose."""

from typing import Any

from steersman.controller.context import Context
from steersman.controller.triggers import Chosen
from steersman.kinds.apps_v1 import ControllerRevision, DaemonSet
from steersman.kinds.core_v1 import Node, Pod
from steersman.localcluster.workloads.claiming import claimed, orphans
from steersman.localcluster.workloads.controller_revisions import forget_revisions, synced_revisions
from steersman.localcluster.workloads.daemon_sets.plan import (
    HASH_LABEL,
    DaemonSetState,
    daemon_pod,
    next_steps,
    node_of,
    status_of,
)
from steersman.localcluster.workloads.pods import next_available, selector_of
from steersman.manager.operator import Operator

operator = Operator("daemonset-controller")


def _selects(daemon_set: DaemonSet, child: Any) -> bool:
    return selector_of(daemon_set.spec.selector).matches(child.labels)


def _every(_daemon_set: DaemonSet, _node: object) -> bool:
    return True


@operator.reconciler(
    DaemonSet, owns=[Pod, ControllerRevision], watches=[orphans(Pod, _selects), Chosen(Node, by=_every)]
)
async def reconcile(daemon_set: DaemonSet, ctx: Context[DaemonSet]) -> None:
    """Create and delete pods until each chosen node has one of the current template."""
    revisions = await synced_revisions(daemon_set, ctx, hash_label=HASH_LABEL)
    mine = await claimed(daemon_set, ctx, Pod, selector_of(daemon_set.spec.selector))
    by_node: dict[str, list[Pod]] = {}
    for pod in sorted(mine, key=lambda pod: pod.name):
        by_node.setdefault(node_of(pod), []).append(pod)
    situation = DaemonSetState(
        daemon_set=daemon_set,
        nodes=sorted(await ctx.list(Node), key=lambda node: node.name),
        pods=by_node,
        update=revisions.update.labels.get(HASH_LABEL, ""),
        now=ctx.now(),
    )
    steps = next_steps(situation)
    for pod in steps.failed:
        text = f"Found failed daemon pod {pod.namespace}/{pod.name} on node {node_of(pod)}, will try to kill it"
        ctx.event("FailedDaemonPod", text, kind="Warning")
    for pod in steps.delete:
        await ctx.delete(pod)
        ctx.event("SuccessfulDelete", f"Deleted pod: {pod.name}")
    for node in steps.create:
        created = await ctx.create(daemon_pod(daemon_set, node, situation.update))
        ctx.event("SuccessfulCreate", f"Created pod: {created.name}")
    daemon_set.status = status_of(situation)
    used = {pod.labels.get(HASH_LABEL) for pod in mine} | {situation.update}
    await forget_revisions(daemon_set, revisions, ctx, is_used=lambda one: one.labels.get(HASH_LABEL) in used)
    wait = next_available(mine, daemon_set.spec.min_ready_seconds, situation.now)
    if wait is not None:
        ctx.requeue_after(wait)
