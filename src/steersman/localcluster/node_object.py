"""The Node object of a node, and the Lease by which it shows that it is alive. Pure."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from steersman.kinds.coordination_v1 import Lease, LeaseSpec
from steersman.kinds.core_v1 import (
    DaemonEndpoint,
    Node,
    NodeAddress,
    NodeCondition,
    NodeDaemonEndpoints,
    NodeSpec,
    NodeStatus,
    NodeSystemInfo,
)
from steersman.objects.meta import OwnerReference, meta
from steersman.objects.quantity import Quantity
from steersman.objects.times import MicroTime
from steersman.version import __version__

LEASE_NAMESPACE = "kube-node-lease"
#: Duration of the lease and renewal interval in seconds; a kubelet's defaults.
LEASE_SECONDS, RENEW_SECONDS = 40, 10.0
_HEALTHY = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
#: Go's names of processors.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
#: More than anything on a laptop requests.
_PLENTY = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDescription:
    """What a node is."""

    name: str
    address: str = "127.0.0.1"
    #: How it runs pods, as ``<runtime>://<version>``.
    runtime: str
    labels: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=lambda: dict(_PLENTY))


def node_object(description: NodeDescription, now: datetime) -> Node:
    """Return the Node as it registers itself: ready, and with room for pods."""
    labels = {
        "kubernetes.io/hostname": description.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _architecture(),
        **description.labels,
    }
    return Node(meta(description.name, labels=labels), spec=NodeSpec(), status=node_status(description, now))


def node_status(
    description: NodeDescription, now: datetime, before: NodeStatus | None = None, *, is_ready: bool = True
) -> NodeStatus:
    """Return how a node is; a time of transition moves only when its condition changes."""
    told = {condition.type: condition for condition in (before.conditions if before else None) or ()}
    capacity = {name: Quantity(amount) for name, amount in description.capacity.items()}
    states = [("False", kind, *words) for kind, words in _HEALTHY.items()]
    if is_ready:
        states.append(("True", "Ready", "KubeletReady", "the node runs pods"))
    else:
        states.append(("False", "Ready", "KubeletNotReady", "the node was stopped"))
    conditions = []
    for status, kind, reason, message in states:
        old = told.get(kind)
        since = old.last_transition_time if old is not None and old.status == status else now
        conditions.append(
            NodeCondition(
                type=kind,
                status=status,
                reason=reason,
                message=message,
                last_heartbeat_time=now,
                last_transition_time=since,
            )
        )
    return NodeStatus(
        addresses=[
            NodeAddress(type="InternalIP", address=description.address),
            NodeAddress(type="Hostname", address=description.name),
        ],
        capacity=capacity,
        allocatable=capacity,
        conditions=conditions,
        daemon_endpoints=NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=10250)),
        node_info=NodeSystemInfo(
            architecture=_architecture(),
            boot_id="",
            container_runtime_version=description.runtime,
            kernel_version=platform.release(),
            kube_proxy_version="",
            kubelet_version=f"steersman-{__version__}",
            machine_id="",
            operating_system="linux",
            os_image=platform.system(),
            system_uuid="",
        ),
    )


def node_lease(node: Node, now: datetime) -> Lease:
    """Return the Lease of a node, which its Node owns."""
    owner = OwnerReference(api_version="v1", kind="Node", name=node.name, uid=node.uid)
    spec = LeaseSpec(holder_identity=node.name, lease_duration_seconds=LEASE_SECONDS, renew_time=MicroTime.of(now))
    return Lease(meta(node.name, namespace=LEASE_NAMESPACE, owner_references=[owner]), spec=spec)


def _architecture() -> str:
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)
