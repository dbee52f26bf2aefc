"""Pods of a CustomPod: which ones count, which ones to keep, and the template of a new one."""

from datetime import UTC, datetime

from steersman import meta
from steersman.kinds.core_v1 import Container, Pod, PodSpec, PodTemplateSpec

from custompod.api.custom_pod_v1 import CustomPod

#: Default if there is no template.
DEFAULT_SPEC = PodSpec(containers=[Container(name="busybox", image="busybox", command=["sleep", "3600"])])
_NEVER = datetime.max.replace(tzinfo=UTC)


def pod_of(custom_pod: CustomPod) -> Pod:
    """Return a new pod; the server generates its name."""
    template = custom_pod.spec.template or PodTemplateSpec()
    given = template.metadata or meta()
    metadata = meta(
        generate_name=f"{custom_pod.name}-pod-",
        labels=given.labels | {"app": custom_pod.name},
        annotations=given.annotations,
    )
    return Pod(metadata, spec=template.spec or DEFAULT_SPEC)


def has_ended(pod: Pod) -> bool:
    """Return whether a pod has ended and will not run again."""
    return pod.status.phase in ("Failed", "Succeeded")


def is_ready(pod: Pod) -> bool:
    """Return whether a pod is ready."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions or [])


def keep_order(pod: Pod) -> tuple[bool, datetime, str]:
    """Return the sort key of pods to keep: ready before others, older before younger."""
    return not is_ready(pod), pod.metadata.creation_timestamp or _NEVER, pod.name
