"""Pod settings that servers and sentinels share, named as in spotahome's CRD.

The schemas of Kubernetes' own types are not repeated in the CRD (``Opaque``). The operator parses them with these
classes and reports unknown fields in the status.
"""

from typing import Annotated, Literal

from steersman import Model
from steersman.kinds.core_v1 import (
    Affinity,
    Container,
    EnvVar,
    LocalObjectReference,
    PodSecurityContext,
    Probe,
    ResourceRequirements,
    SecurityContext,
    Toleration,
    TopologySpreadConstraint,
    Volume,
    VolumeMount,
)
from steersman.schema import MinLength, Opaque

#: Redis 7 is the first with ``bind-source-addr``.
IMAGE = "redis:7.2-alpine"
EXPORTER_IMAGE = "oliver006/redis_exporter:v1.43.0"

PullPolicy = Literal["Always", "IfNotPresent", "Never"]


class Exporter(Model):
    """A sidecar that exports metrics for Prometheus on port 9121."""

    enabled: bool = False
    image: Annotated[str, MinLength(1)] = EXPORTER_IMAGE
    image_pull_policy: PullPolicy | None = None
    container_security_context: Annotated[SecurityContext, Opaque()] | None = None
    args: list[str] | None = None
    env: list[Annotated[EnvVar, Opaque()]] | None = None
    resources: ResourceRequirements | None = None


class PodSettings(Model):
    """Templates of pods and where they run; a change replaces the pods one by one."""

    image: Annotated[str, MinLength(1)] = IMAGE
    image_pull_policy: PullPolicy | None = None
    image_pull_secrets: list[LocalObjectReference] | None = None
    resources: ResourceRequirements | None = None
    pod_annotations: dict[str, str] | None = None
    #: Annotations of the Services of these pods.
    service_annotations: dict[str, str] | None = None
    affinity: Annotated[Affinity, Opaque()] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[Annotated[TopologySpreadConstraint, Opaque()]] | None = None
    priority_class_name: str | None = None
    service_account_name: str | None = None
    security_context: Annotated[PodSecurityContext, Opaque()] | None = None
    container_security_context: Annotated[SecurityContext, Opaque()] | None = None
    init_containers: list[Annotated[Container, Opaque()]] | None = None
    extra_containers: list[Annotated[Container, Opaque()]] | None = None
    extra_volumes: list[Annotated[Volume, Opaque()]] | None = None
    #: Mounts in the container of the server or sentinel.
    extra_volume_mounts: list[VolumeMount] | None = None
    custom_liveness_probe: Annotated[Probe, Opaque()] | None = None
    #: Replaces the probe of the port.
    custom_readiness_probe: Annotated[Probe, Opaque()] | None = None
    custom_startup_probe: Annotated[Probe, Opaque()] | None = None
    exporter: Exporter | None = None
