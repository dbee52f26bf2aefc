"""The conditions of a pod that its node is answerable for, in a kubelet's order and words. Pure."""

from collections.abc import Sequence
from datetime import datetime

from steersman.kinds.core_v1 import Container, ContainerStatus, Pod, PodCondition

#: In the order in which a kubelet lists them.
OWNED = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def is_sidecar(container: Container) -> bool:
    """Return whether an init container runs beside the main containers instead of before them."""
    return container.restart_policy == "Always"


def has_begun(statuses: Sequence[ContainerStatus], names: Sequence[str]) -> bool:
    """Return whether any of the named containers runs or ever ran."""
    return any(
        status.name in names
        and status.state is not None
        and (status.state.running is not None or status.state.terminated is not None or status.restart_count > 0)
        for status in statuses
    )


def pod_conditions(
    pod: Pod, statuses: Sequence[ContainerStatus], phase: str, *, is_set_up: bool, now: datetime
) -> list[PodCondition]:
    """Return all conditions: those of other writers unchanged, then those of the node.

    The transition time moves only when a condition changes between true and false.
    """
    before = {condition.type: condition for condition in pod.status.conditions or ()}
    generation = pod.metadata.generation
    ready = _containers_ready(pod, statuses, phase)
    found = {
        "PodReadyToStartContainers": _condition("PodReadyToStartContainers", is_true=is_set_up),
        "Initialized": _initialized(pod, statuses, phase),
        "Ready": _ready(pod, ready),
        "ContainersReady": ready,
        "PodScheduled": _condition("PodScheduled", is_true=True),
    }
    conditions = [condition for condition in pod.status.conditions or () if condition.type not in OWNED]
    for name in OWNED:
        condition, old = found[name], before.get(name)
        is_same = old is not None and old.status == condition.status
        condition.last_transition_time = old.last_transition_time if old is not None and is_same else now
        condition.observed_generation = generation
        conditions.append(condition)
    return conditions


def _condition(kind: str, *, is_true: bool, reason: str = "", message: str = "") -> PodCondition:
    return PodCondition(
        type=kind, status="True" if is_true else "False", reason=reason or None, message=message or None
    )


def _initialized(pod: Pod, statuses: Sequence[ContainerStatus], phase: str) -> PodCondition:
    if phase == "Succeeded":
        return _condition("Initialized", is_true=True, reason="PodCompleted")
    if has_begun(statuses, [container.name for container in pod.spec.containers]):
        # A sidecar that is down for a moment does not take the initialization back.
        return _condition("Initialized", is_true=True)
    by_name = {status.name: status for status in statuses}
    missing = [
        container.name
        for container in pod.spec.init_containers or ()
        if not (by_name[container.name].started if is_sidecar(container) else by_name[container.name].ready)
    ]
    if not missing:
        return _condition("Initialized", is_true=True)
    message = f"containers with incomplete status: [{' '.join(missing)}]"
    return _condition("Initialized", is_true=False, reason="ContainersNotInitialized", message=message)


def _containers_ready(pod: Pod, statuses: Sequence[ContainerStatus], phase: str) -> PodCondition:
    kind = "ContainersReady"
    if phase in ("Succeeded", "Failed"):
        return _condition(kind, is_true=False, reason="PodCompleted" if phase == "Succeeded" else "PodFailed")
    sidecars = [container.name for container in pod.spec.init_containers or () if is_sidecar(container)]
    counted = {*sidecars, *(container.name for container in pod.spec.containers)}
    unready = [status.name for status in statuses if status.name in counted and not status.ready]
    if not unready:
        return _condition(kind, is_true=True)
    message = f"containers with unready status: [{' '.join(unready)}]"
    return _condition(kind, is_true=False, reason="ContainersNotReady", message=message)


def _ready(pod: Pod, containers: PodCondition) -> PodCondition:
    """Return the Ready condition: the containers are ready, and all readiness gates are true."""
    if containers.status != "True":
        return _condition("Ready", is_true=False, reason=containers.reason or "", message=containers.message or "")
    told = {condition.type: condition.status for condition in pod.status.conditions or ()}
    missing = []
    for gate in pod.spec.readiness_gates or ():
        name = gate.condition_type
        if name not in told:
            missing.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif told[name] != "True":
            missing.append(f'the status of pod readiness gate "{name}" is not "True", but {told[name]}')
    if missing:
        return _condition("Ready", is_true=False, reason="ReadinessGatesNotReady", message=", ".join(missing))
    return _condition("Ready", is_true=True)
