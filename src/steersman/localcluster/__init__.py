"""What a cluster has besides its API server: workload controllers, a scheduler, and nodes that run pods.

Start with `local_cluster`, which lists the parts. ``workloads/`` has the controllers of Deployments, StatefulSets,
DaemonSets, Jobs and Services, each an ordinary operator. `scheduler` binds pods by the rules of `node_fit`. There are
two nodes: ``simulated_node/`` only reports states, ``process_node/`` runs pods as processes of this machine. Both build
a pod's status with `pod_status` and `pod_conditions`, and register with `node_presence`.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.localcluster.local_cluster import local_operators
    from steersman.localcluster.process_node.faults import PodFaults
    from steersman.localcluster.process_node.node import ProcessNode
    from steersman.localcluster.process_node.options import ProcessNodeOptions

__all__ = [
    "PodFaults",
    "ProcessNode",
    "ProcessNodeOptions",
    "local_operators",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.localcluster.local_cluster": ("local_operators",),
        "steersman.localcluster.process_node.faults": ("PodFaults",),
        "steersman.localcluster.process_node.node": ("ProcessNode",),
        "steersman.localcluster.process_node.options": ("ProcessNodeOptions",),
    },
)
