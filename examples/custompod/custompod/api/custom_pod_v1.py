"""CustomPod, as zhhnzw.mock.com/v1: the CRD and the RBAC permissions are derived from these classes."""

from typing import Annotated

from steersman import Model, Resource, Status, custom_resource
from steersman.kinds.core_v1 import PodTemplateSpec
from steersman.schema import Column, Maximum, Minimum, Opaque, PreserveUnknown, Scale, constrained


class CustomPodSpec(Model):
    """The wanted state."""

    replicas: Annotated[int, Minimum(0), Maximum(100)]
    template: Annotated[PodTemplateSpec, Opaque()] | None = None


@constrained(PreserveUnknown())
class CustomPodStatus(Status):
    """The observed state, with conditions."""

    replicas: int = 0
    ready_replicas: int = 0
    pod_names: list[str] = []
    selector: str = ""


@custom_resource(
    "zhhnzw.mock.com/v1",
    scale=Scale(spec=".spec.replicas", status=".status.replicas", selector=".status.selector"),
    columns=[
        Column("Replicas", ".spec.replicas"),
        Column("Ready", ".status.readyReplicas"),
        Column("Age", ".metadata.creationTimestamp"),
    ],
)
class CustomPod(Resource[CustomPodSpec, CustomPodStatus]):
    """Keeps a number of pods running, as a ReplicaSet does."""
