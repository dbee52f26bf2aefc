"""The not-ready taint: the server adds it to each new node, this controller removes it when the node is ready."""

from steersman.controller.context import Context
from steersman.controller.predicates import always
from steersman.kinds.core_v1 import Node, Taint
from steersman.localcluster.node_fit import is_node_ready
from steersman.manager.operator import Operator

NOT_READY = "node.kubernetes.io/not-ready"

operator = Operator("node-controller")
operator.permit(Node, "patch")


@operator.reconciler(Node, when=always, name="node-taints")
async def reconcile(node: Node, ctx: Context[Node]) -> None:
    """Set or remove the taint by the node's readiness."""
    node.spec.taints = taints_of(node) or None
    await ctx.update(node)


def taints_of(node: Node) -> list[Taint]:
    """Return the taints that a node should have: those of other controllers, and its own while it is not ready."""
    present = node.spec.taints or []
    if is_node_ready(node):
        return [taint for taint in present if taint.key != NOT_READY]
    if any(taint.key == NOT_READY for taint in present):
        return present
    return [*present, Taint(key=NOT_READY, effect="NoSchedule")]
