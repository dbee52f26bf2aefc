"""What a cluster has beside its API server, on a laptop: workload controllers, a scheduler, nodes that run pods."""

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
