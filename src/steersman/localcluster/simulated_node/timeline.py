"""The state of a simulated pod at any moment, as a function of its start and its script. Pure.

Nothing has to be stored between two moments, so a restarted node continues where it was.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from steersman.kinds.core_v1 import Container, Pod
from steersman.localcluster.container_report import ContainerReport, PodReport, Running, Terminated, Waiting
from steersman.localcluster.pod_conditions import is_sidecar
from steersman.localcluster.simulated_node.script import CRASH, Script

#: Seconds between the end of a container and its next run: doubled each time, as a kubelet does.
FIRST_BACKOFF, MAX_BACKOFF = timedelta(seconds=10), timedelta(seconds=300)
_RUNTIME = "simulated://"


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """The state of a container, and when it changes by itself."""

    report: ContainerReport
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class PodObservation:
    """How a pod stands, and when to look again."""

    report: PodReport
    until: datetime | None = None


def pod_at(pod: Pod, script: Script, began: datetime, now: datetime, *, host_ip: str, pod_ip: str) -> PodObservation:
    """Return how a pod stands that its node took on at ``began``."""
    moments: dict[str, TimelineStep] = {}
    start = began + script.start_after
    if not script.pull_failure:
        # Init containers take no time here; sidecars keep running.
        for container in pod.spec.init_containers or ():
            moments[container.name] = _init(pod, container, start, now)
        for container in pod.spec.containers:
            moments[container.name] = container_at(pod, container, script, start, now)
    else:
        for container in pod.spec.containers:
            moments[container.name] = _unpulled(container, script, start, now)
    is_over = bool(pod.is_deleting) and all(isinstance(moment.report.state, Terminated) for moment in moments.values())
    report = PodReport(
        containers={name: moment.report for name, moment in moments.items()},
        started_at=began,
        host_ip=host_ip,
        pod_ip=pod_ip,
        is_over=is_over,
    )
    return PodObservation(
        report, min((moment.until for moment in moments.values() if moment.until is not None), default=None)
    )


def container_at(pod: Pod, container: Container, script: Script, start: datetime, now: datetime) -> TimelineStep:
    """Return the state of a container whose first run begins at ``start``."""
    if now < start:
        return TimelineStep(ContainerReport(), start)
    policy = container.restart_policy or pod.spec.restart_policy or "Always"
    last: Terminated | None = None
    restarts, begin, backoff = 0, start, FIRST_BACKOFF
    while True:
        identity = _identity(pod, container, restarts)
        if script.run_for is None or now < begin + script.run_for:
            return _running(script, begin, now, ContainerReport(restarts=restarts, last=last, container_id=identity))
        ended = begin + script.run_for
        end = Terminated(script.exit_code, started_at=begin, finished_at=ended, container_id=identity)
        if policy == "Never" or (policy == "OnFailure" and end.is_success):
            return TimelineStep(ContainerReport(state=end, last=last, restarts=restarts, container_id=identity))
        again = ended + backoff
        if now < again:
            message = f"back-off {int(backoff.total_seconds())}s restarting failed container={container.name}"
            state = Waiting(CRASH, message)
            return TimelineStep(ContainerReport(state=state, last=end, restarts=restarts, container_id=identity), again)
        last, restarts, begin, backoff = end, restarts + 1, again, min(backoff * 2, MAX_BACKOFF)


def _running(script: Script, begin: datetime, now: datetime, base: ContainerReport) -> TimelineStep:
    ready_at = begin + script.ready_after
    is_ready = not script.never_ready and now >= ready_at
    changes = [begin + script.run_for] if script.run_for is not None else []
    if not is_ready and not script.never_ready:
        changes.append(ready_at)
    report = ContainerReport(
        state=Running(begin),
        last=base.last,
        restarts=base.restarts,
        is_ready=is_ready,
        container_id=base.container_id,
    )
    return TimelineStep(report, min(changes, default=None))


def _init(pod: Pod, container: Container, start: datetime, now: datetime) -> TimelineStep:
    if now < start:
        return TimelineStep(ContainerReport(), start)
    identity = _identity(pod, container, 0)
    if is_sidecar(container):
        return TimelineStep(ContainerReport(state=Running(start), container_id=identity))
    end = Terminated(0, started_at=start, finished_at=start, container_id=identity)
    return TimelineStep(ContainerReport(state=end, container_id=identity))


def _unpulled(container: Container, script: Script, start: datetime, now: datetime) -> TimelineStep:
    if now < start:
        return TimelineStep(ContainerReport(), start)
    message = f'Back-off pulling image "{container.image or ""}"'
    return TimelineStep(ContainerReport(state=Waiting(script.pull_failure, message)))


def _identity(pod: Pod, container: Container, restarts: int) -> str:
    return f"{_RUNTIME}{pod.uid}/{container.name}/{restarts}"


def stopped_at(pod: Pod, script: Script, now: datetime) -> datetime:
    """Return when a deleted pod ends: when it is done, and at the latest after its grace period."""
    deadline = pod.metadata.deletion_timestamp or now
    asked = deadline - timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
    return min(asked + script.stop_after, deadline)
