"""`local_operators`: everything that a cluster has beside its API server, to run beside one's own operators.

``async with cluster.running(*local_operators(), my_operator)``
"""

from steersman.localcluster import node_taints, scheduler
from steersman.localcluster.simulated_node.node import simulated_node
from steersman.localcluster.workloads import deployments, replica_sets
from steersman.manager.operator import Operator


def local_operators(*, node: Operator | None = None) -> tuple[Operator, ...]:
    """Give the controllers of workloads, a scheduler, and a node: a simulated one unless another is given."""
    return (*workload_operators(), scheduler.operator, node if node is not None else simulated_node())


def workload_operators() -> tuple[Operator, ...]:
    """Give the controllers alone, for a cluster that has nodes and a scheduler."""
    return (deployments.operator, replica_sets.operator, node_taints.operator)
