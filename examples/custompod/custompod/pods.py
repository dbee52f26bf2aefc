"""Pods as a CustomPod sees them: which to count, which to keep, and what a new one looks like."""

from datetime import UTC, datetime

from steersman import meta
from steersman.kinds.core_v1 import Container, Pod, PodSpec, PodTemplateSpec

from custompod.api.custom_pod_v1 import CustomPod

#: What runs where nobody says what to run.
SLEEPER = PodSpec(containers=[Container(name="busybox", image="busybox", command=["sleep", "3600"])])
_NEVER = datetime.max.replace(tzinfo=UTC)


def pod_of(custom_pod: CustomPod) -> Pod:
    """Make a new pod; the server gives it a name of its own."""
    template = custom_pod.spec.template or PodTemplateSpec()
    given = template.metadata or meta()
    metadata = meta(
        generate_name=f"{custom_pod.name}-pod-",
        labels=given.labels | {"app": custom_pod.name},
        annotations=given.annotations,
    )
    return Pod(metadata, spec=template.spec or SLEEPER)


def has_ended(pod: Pod) -> bool:
    """Tell whether nothing runs in it any more, and never will."""
    return pod.status.phase in ("Failed", "Succeeded")


def is_ready(pod: Pod) -> bool:
    """Tell whether it does its work."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions or [])


def worth(pod: Pod) -> tuple[bool, datetime, str]:
    """Order pods by what is lost with them, dearest first: those at work before others, older before younger."""
    return not is_ready(pod), pod.metadata.creation_timestamp or _NEVER, pod.name
