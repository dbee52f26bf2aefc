"""Deletes pods from nodes whose NoExecute taints they do not tolerate, or tolerate for some time only."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from steersman.controller.context import Context
from steersman.controller.triggers import Chosen
from steersman.kinds.core_v1 import Node, Pod, PodCondition, Taint, Toleration
from steersman.localcluster.node_fit import is_about
from steersman.localcluster.workloads.pods import is_finished
from steersman.manager.operator import Operator

operator = Operator("taint-eviction-controller")
operator.permit(Pod, "delete")

_REASON = "DeletionByTaintManager"
_MESSAGE = "Taint manager: deleting due to NoExecute taint"


def _is_on(pod: Pod, node: Node) -> bool:
    return pod.spec.node_name == node.name


@operator.reconciler(Pod, watches=[Chosen(Node, by=_is_on)], name="taint-eviction")
async def evict(pod: Pod, ctx: Context[Pod]) -> None:
    """Delete a pod whose time on a tainted node is over; come back when it will be."""
    if not pod.spec.node_name or pod.is_deleting or is_finished(pod):
        return
    node = await ctx.get(Node, pod.spec.node_name)
    taints = [taint for taint in (node.spec.taints if node else None) or () if taint.effect == "NoExecute"]
    #: When each taint was first seen, for taints that do not say when they were added.
    seen: dict[tuple[str, str], datetime] = ctx.memory(dict)
    names = {(taint.key, taint.value or "") for taint in taints}
    for gone in seen.keys() - names:
        del seen[gone]
    for taint in taints:
        seen.setdefault((taint.key, taint.value or ""), taint.time_added or ctx.now())
    seconds = seconds_left(pod.spec.tolerations or (), taints, min(seen.values(), default=ctx.now()), ctx.now())
    if seconds is None:
        return
    if seconds > 0:
        ctx.requeue_after(seconds)
        return
    ctx.event("TaintManagerEviction", f"Marking for deletion Pod {pod.namespace}/{pod.name}")
    others = [one for one in pod.status.conditions or () if one.type != "DisruptionTarget"]
    target = PodCondition(
        type="DisruptionTarget",
        status="True",
        reason=_REASON,
        message=_MESSAGE,
        last_transition_time=ctx.now().replace(microsecond=0),
    )
    pod.status.conditions = [*others, target]
    await ctx.client.status.update(pod)
    await ctx.delete(pod)


def seconds_left(
    tolerations: Iterable[Toleration], taints: Iterable[Taint], since: datetime, now: datetime
) -> float | None:
    """Return how long a pod may stay on its node: 0 if not at all, ``None`` if forever."""
    tolerations = list(tolerations)
    limits: list[int] = []
    for taint in taints:
        used = [one for one in tolerations if is_about(one, taint)]
        if not used:
            return 0.0
        limits += [max(one.toleration_seconds, 0) for one in used if one.toleration_seconds is not None]
    if not limits:
        return None
    return max((since + timedelta(seconds=min(limits)) - now).total_seconds(), 0.0)
