"""`local_operators`: everything that a cluster has beside its API server, to run beside one's own operators.

``async with cluster.running(*local_operators(), my_operator)``
"""

from steersman.localcluster import node_taints, scheduler, taint_eviction, volumes
from steersman.localcluster.simulated_node.node import simulated_node
from steersman.localcluster.workloads import disruption_budgets, replica_sets, replication_controllers
from steersman.localcluster.workloads.daemon_sets import reconciler as daemon_sets
from steersman.localcluster.workloads.deployments import reconciler as deployments
from steersman.localcluster.workloads.jobs import cron_reconciler as cron_jobs
from steersman.localcluster.workloads.jobs import reconciler as jobs
from steersman.localcluster.workloads.jobs import ttl as finished_jobs
from steersman.localcluster.workloads.services import reconciler as services
from steersman.localcluster.workloads.stateful_sets import reconciler as stateful_sets
from steersman.manager.operator import Operator


def local_operators(*, node: Operator | None = None) -> tuple[Operator, ...]:
    """Return the workload controllers, a scheduler, and a node: a simulated one by default."""
    return (*controllers(), node if node is not None else simulated_node())


def controllers() -> tuple[Operator, ...]:
    """Return everything but the node, for a cluster that has one already."""
    return (
        deployments.operator,
        replica_sets.operator,
        replication_controllers.operator,
        stateful_sets.operator,
        daemon_sets.operator,
        jobs.operator,
        cron_jobs.operator,
        finished_jobs.operator,
        services.operator,
        disruption_budgets.operator,
        volumes.operator,
        node_taints.operator,
        taint_eviction.operator,
        scheduler.operator,
    )
