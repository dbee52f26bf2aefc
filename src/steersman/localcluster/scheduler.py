"""The scheduler of a local cluster: binds each pod to the first node that takes it, or reports why none does.

It supports node names, selectors, required node affinity, taints, cordons and readiness. Resources, spreading and
priorities are left to real clusters.
"""

from contextlib import suppress

from steersman.controller.context import Context
from steersman.controller.triggers import Chosen
from steersman.errors import NotFound
from steersman.kinds.core_v1 import Node, Pod, PodCondition
from steersman.localcluster.node_fit import refusal, unschedulable
from steersman.manager.operator import Operator

operator = Operator("default-scheduler")
operator.permit(Pod, "create", subresource="binding")


def _waits(pod: Pod, _node: object) -> bool:
    return is_mine(pod)


@operator.reconciler(Pod, watches=[Chosen(Node, by=_waits)], name="scheduler")
async def schedule(pod: Pod, ctx: Context[Pod]) -> None:
    """Bind a pod that has no node yet."""
    if not is_mine(pod):
        return
    nodes = sorted(await ctx.list(Node), key=lambda node: node.name)
    refusals = {node.name: refusal(pod, node) for node in nodes}
    for node in nodes:
        if not refusals[node.name]:
            await _bind(pod, node, ctx)
            return
    message = unschedulable(refusals.values())
    told = next((one for one in pod.status.conditions or () if one.type == "PodScheduled"), None)
    if told is None or told.message != message:
        ctx.event("FailedScheduling", message, kind="Warning")
        others = [one for one in pod.status.conditions or () if one.type != "PodScheduled"]
        refused = PodCondition(
            type="PodScheduled",
            status="False",
            reason="Unschedulable",
            message=message,
            last_transition_time=told.last_transition_time if told is not None else ctx.now().replace(microsecond=0),
            observed_generation=pod.metadata.generation,
        )
        pod.status.conditions = [*others, refused]


async def _bind(pod: Pod, node: Node, ctx: Context[Pod]) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": node.name}
    metadata = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    # A deleted pod needs nothing more. After a conflict the next attempt shows whether it was bound.
    with suppress(NotFound):
        await ctx.client.create_subresource(pod, "binding", binding)
        ctx.event("Scheduled", f"Successfully assigned {pod.namespace}/{pod.name} to {node.name}")


def is_mine(pod: Pod) -> bool:
    """Return whether a pod waits for this scheduler."""
    is_default = (pod.spec.scheduler_name or "default-scheduler") == operator.name
    return is_default and not pod.spec.node_name and not pod.spec.scheduling_gates and not pod.is_deleting
