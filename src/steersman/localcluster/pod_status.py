"""The status of a pod as a kubelet writes it, from how its containers stand. Pure; every node here uses it."""

from collections.abc import Sequence
from datetime import datetime
from typing import assert_never

from steersman.kinds.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    HostIP,
    Pod,
    PodIP,
    PodStatus,
)
from steersman.localcluster.container_report import (
    CREATING,
    INITIALIZING,
    ContainerReport,
    PodReport,
    Running,
    Terminated,
    Waiting,
)
from steersman.localcluster.pod_conditions import has_begun, is_sidecar, pod_conditions


def pod_status(pod: Pod, report: PodReport, now: datetime) -> PodStatus:
    """Return the whole status of a pod; fields that the server set (the QoS class) and others' conditions stay."""
    inits = [_status(pod, container, report, is_init=True) for container in pod.spec.init_containers or ()]
    mains = [_status(pod, container, report, is_init=False) for container in pod.spec.containers]
    phase = "Failed" if report.failure else pod_phase(pod, inits, mains, is_over=report.is_over)
    is_set_up = report.is_set_up and phase not in ("Succeeded", "Failed")
    return PodStatus(
        phase=phase,
        reason=report.failure or None,
        message=report.message or None,
        conditions=pod_conditions(pod, [*inits, *mains], phase, is_set_up=is_set_up, now=now),
        init_container_statuses=inits or None,
        container_statuses=mains,
        host_ip=report.host_ip or None,
        host_ips=[HostIP(ip=report.host_ip)] if report.host_ip else None,
        pod_ip=report.pod_ip or None,
        pod_ips=[PodIP(ip=report.pod_ip)] if report.pod_ip else None,
        start_time=report.started_at,
        qos_class=pod.status.qos_class,
        observed_generation=pod.metadata.generation,
    )


def pod_phase(
    pod: Pod, inits: Sequence[ContainerStatus], mains: Sequence[ContainerStatus], *, is_over: bool = False
) -> str:
    """Return the phase of a pod: Pending, Running, Succeeded or Failed."""
    policy = pod.spec.restart_policy or "Always"
    if policy == "Never" and any(_has_failed(pod, status) for status in inits):
        return "Failed"
    begun = has_begun(mains, [container.name for container in pod.spec.containers])
    waiting = sum(_is_new(status) for status in mains)
    running = sum(status.state is not None and status.state.running is not None for status in mains)
    if waiting or (not begun and any(_holds_up(pod, status) for status in inits)):
        # A pod that is taken away before all of it began has not succeeded.
        return "Failed" if is_over else "Pending"
    if running:
        return "Running"
    is_success = all(_ended_well(status) for status in mains)
    if is_over or policy == "Never":
        return "Succeeded" if is_success else "Failed"
    return "Succeeded" if is_success and policy == "OnFailure" else "Running"


def _init_kind(pod: Pod, status: ContainerStatus) -> bool:
    """Return whether an init container is a sidecar."""
    return any(is_sidecar(item) for item in pod.spec.init_containers or () if item.name == status.name)


def _has_failed(pod: Pod, status: ContainerStatus) -> bool:
    if _init_kind(pod, status):
        return False
    ended = _last_end(status)
    return ended is not None and ended.exit_code != 0


def _holds_up(pod: Pod, status: ContainerStatus) -> bool:
    """Return whether an init container keeps the others from starting."""
    if _init_kind(pod, status):
        is_running = status.state is not None and status.state.running is not None
        return not status.started if is_running else _last_end(status) is None
    ended = _last_end(status)
    is_running = status.state is not None and status.state.running is not None
    return is_running or ended is None


def _last_end(status: ContainerStatus) -> ContainerStateTerminated | None:
    """Return how a container that does not run now ended last."""
    for state in (status.state, status.last_state):
        if state is not None and state.terminated is not None:
            return state.terminated
    return None


def _is_new(status: ContainerStatus) -> bool:
    """Return whether a container waits for its first run."""
    return status.state is not None and status.state.waiting is not None and _last_end(status) is None


def _ended_well(status: ContainerStatus) -> bool:
    ended = _last_end(status)
    return ended is not None and ended.exit_code == 0


def _status(pod: Pod, container: Container, report: PodReport, *, is_init: bool) -> ContainerStatus:
    found = report.containers.get(container.name, ContainerReport())
    is_running = isinstance(found.state, Running)
    # An init container has no probes: it is ready when it is done.
    is_step = is_init and not is_sidecar(container)
    is_started = is_running and (is_step or found.is_started)
    if is_step:
        is_ready = isinstance(found.state, Terminated) and found.state.is_success
    else:
        is_ready = is_started and found.is_ready
    return ContainerStatus(
        name=container.name,
        image=container.image or "",
        image_id=found.image_id,
        container_id=found.container_id or None,
        ready=is_ready,
        started=is_started,
        restart_count=found.restarts,
        state=_state(found.state, INITIALIZING if pod.spec.init_containers else CREATING),
        last_state=ContainerState() if found.last is None else ContainerState(terminated=_ended(found.last)),
    )


def _state(phase: Waiting | Running | Terminated, default: str) -> ContainerState:
    match phase:
        case Waiting(reason, message):
            return ContainerState(waiting=ContainerStateWaiting(reason=reason or default, message=message or None))
        case Running(since):
            return ContainerState(running=ContainerStateRunning(started_at=since))
        case Terminated():
            return ContainerState(terminated=_ended(phase))
        case _:
            assert_never(phase)


def _ended(end: Terminated) -> ContainerStateTerminated:
    return ContainerStateTerminated(
        exit_code=end.exit_code,
        reason=end.reason or ("Completed" if end.is_success else "Error"),
        message=end.message or None,
        started_at=end.started_at,
        finished_at=end.finished_at,
        container_id=end.container_id or None,
    )
