"""The status of a pod, as a kubelet writes it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from steersman import meta
from steersman.kinds.core_v1 import Container, Pod, PodCondition, PodReadinessGate, PodSpec, PodStatus
from steersman.localcluster.container_report import ContainerReport, PodReport, Running, Terminated, Waiting
from steersman.localcluster.pod_status import pod_status

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RUNNING = ContainerReport(state=Running(NOW))
DONE = ContainerReport(state=Terminated(0, NOW, NOW))
FAILED = ContainerReport(state=Terminated(1, NOW, NOW))
CRASHING = ContainerReport(state=Waiting("CrashLoopBackOff", "back-off 10s"), last=Terminated(1, NOW, NOW), restarts=1)


def make_pod(*names: str, inits: tuple[str, ...] = (), sidecars: tuple[str, ...] = (), policy: str = "Always") -> Pod:
    """Return a pod with containers of these names."""
    before = [Container(name=name, image="i", restart_policy="Always") for name in sidecars]
    before += [Container(name=name, image="i") for name in inits]
    spec = PodSpec(
        containers=[Container(name=name, image="i") for name in names],
        init_containers=before or None,
        restart_policy=policy,
    )
    return Pod(meta("p", generation=3), spec=spec, status=PodStatus(qos_class="Burstable"))


def status_of(pod: Pod, **containers: ContainerReport) -> PodStatus:
    """Return the status of a pod whose containers are in these states."""
    return pod_status(pod, PodReport(containers=containers, started_at=NOW), NOW)


def condition_of(status: PodStatus, kind: str) -> PodCondition:
    """Return one condition."""
    (found,) = [condition for condition in status.conditions or () if condition.type == kind]
    return found


def test_a_pod_that_runs_is_ready() -> None:
    """The status that controllers and services wait for."""
    report = PodReport(containers={"a": RUNNING}, started_at=NOW, host_ip="127.0.0.1", pod_ip="127.1.2.3")
    status = pod_status(make_pod("a"), report, NOW)
    assert status.phase == "Running"
    assert (status.pod_ip, status.pod_ips[0].ip if status.pod_ips else "") == ("127.1.2.3", "127.1.2.3")
    assert (status.host_ip, status.qos_class, status.observed_generation) == ("127.0.0.1", "Burstable", 3)
    assert [(condition.type, condition.status) for condition in status.conditions or ()] == [
        ("PodReadyToStartContainers", "True"),
        ("Initialized", "True"),
        ("Ready", "True"),
        ("ContainersReady", "True"),
        ("PodScheduled", "True"),
    ]


def test_a_pod_that_was_not_started_is_pending_with_a_reason() -> None:
    """What `kubectl get pods` shows as ContainerCreating."""
    status = status_of(make_pod("a"))
    (container,) = status.container_statuses or []
    assert status.phase == "Pending"
    assert container.state is not None
    assert container.state.waiting is not None
    assert container.state.waiting.reason == "ContainerCreating"
    ready = condition_of(status, "Ready")
    assert (ready.status, ready.reason) == ("False", "ContainersNotReady")
    assert ready.message == "containers with unready status: [a]"


@pytest.mark.parametrize(
    ("policy", "containers", "phase"),
    [
        ("Always", {"a": RUNNING, "b": CRASHING}, "Running"),
        ("Always", {"a": RUNNING}, "Pending"),
        ("Always", {"a": DONE, "b": DONE}, "Running"),
        ("Always", {"a": CRASHING, "b": CRASHING}, "Running"),
        ("OnFailure", {"a": DONE, "b": DONE}, "Succeeded"),
        ("OnFailure", {"a": DONE, "b": FAILED}, "Running"),
        ("Never", {"a": DONE, "b": FAILED}, "Failed"),
        ("Never", {"a": DONE, "b": RUNNING}, "Running"),
        ("Never", {"a": DONE, "b": DONE}, "Succeeded"),
    ],
)
def test_the_phase_follows_from_the_containers(policy: str, containers: dict[str, ContainerReport], phase: str) -> None:
    """Jobs count succeeded and failed pods by it."""
    assert status_of(make_pod("a", "b", policy=policy), **containers).phase == phase


@pytest.mark.parametrize(("state", "phase"), [(DONE, "Succeeded"), (FAILED, "Failed"), (ContainerReport(), "Failed")])
def test_a_finished_pod_has_succeeded_or_failed(state: ContainerReport, phase: str) -> None:
    """A pod that is deleted ends like one that is never restarted."""
    assert pod_status(make_pod("a"), PodReport(containers={"a": state}, is_over=True), NOW).phase == phase


def test_init_containers_delay_the_others() -> None:
    """Until they are done the pod is not initialized."""
    pod = make_pod("a", inits=("i", "j"))
    status = status_of(pod, i=DONE, j=RUNNING)
    initialized = condition_of(status, "Initialized")
    assert status.phase == "Pending"
    assert (initialized.status, initialized.reason) == ("False", "ContainersNotInitialized")
    assert initialized.message == "containers with incomplete status: [j]"
    first, second = status.init_container_statuses or []
    assert (first.ready, second.ready) == (True, False)
    assert condition_of(status_of(pod, i=DONE, j=DONE), "Initialized").status == "True"


@pytest.mark.parametrize(("policy", "phase"), [("Never", "Failed"), ("Always", "Pending"), ("OnFailure", "Pending")])
def test_a_failed_init_container_fails_a_pod_that_is_never_restarted(policy: str, phase: str) -> None:
    """With any other policy it is retried."""
    assert status_of(make_pod("a", inits=("i",), policy=policy), i=FAILED).phase == phase


def test_a_sidecar_delays_the_others_only_until_it_has_started() -> None:
    """It never ends, so the pod must not wait for its end."""
    pod = make_pod("a", sidecars=("s",))
    assert status_of(pod, s=replace(RUNNING, is_started=False)).phase == "Pending"
    status = status_of(pod, s=RUNNING, a=RUNNING)
    assert status.phase == "Running"
    assert condition_of(status, "Ready").status == "True"


def test_a_sidecar_that_is_down_makes_the_pod_unready_but_still_initialized() -> None:
    """Readiness can be lost; the initialization stays done."""
    status = status_of(make_pod("a", sidecars=("s",)), s=CRASHING, a=RUNNING)
    assert status.phase == "Running"
    assert condition_of(status, "Initialized").status == "True"
    assert condition_of(status, "ContainersReady").message == "containers with unready status: [s]"


def test_a_container_that_has_not_started_is_not_ready_whatever_its_readiness_probe_says() -> None:
    """A startup probe delays the others."""
    (container,) = status_of(make_pod("a"), a=replace(RUNNING, is_started=False)).container_statuses or []
    assert (container.started, container.ready) == (False, False)


@pytest.mark.parametrize(("code", "reason"), [(0, "Completed"), (3, "Error"), (137, "Error")])
def test_the_reason_of_a_termination_follows_from_the_exit_code(code: int, reason: str) -> None:
    """As `kubectl describe` shows it."""
    (container,) = status_of(make_pod("a"), a=ContainerReport(state=Terminated(code))).container_statuses or []
    assert container.state is not None
    assert container.state.terminated is not None
    assert (container.state.terminated.exit_code, container.state.terminated.reason) == (code, reason)


def test_a_crash_loop_shows_how_the_last_run_ended() -> None:
    """Users look for it first."""
    (container,) = status_of(make_pod("a"), a=CRASHING).container_statuses or []
    assert container.restart_count == 1
    assert container.last_state is not None
    assert container.last_state.terminated is not None
    assert container.last_state.terminated.exit_code == 1


def test_a_completed_pod_is_initialized_but_not_ready() -> None:
    """So Services leave it out."""
    status = status_of(make_pod("a", policy="Never"), a=DONE)
    assert condition_of(status, "Ready").reason == "PodCompleted"
    initialized = condition_of(status, "Initialized")
    assert (initialized.status, initialized.reason) == ("True", "PodCompleted")
    assert condition_of(status, "PodReadyToStartContainers").status == "False"


def test_a_pod_waits_for_its_readiness_gates() -> None:
    """Another controller sets them, such as that of a load balancer."""
    pod = make_pod("a")
    pod.spec.readiness_gates = [PodReadinessGate(condition_type="example.com/gate")]
    ready = condition_of(status_of(pod, a=RUNNING), "Ready")
    assert ready.reason == "ReadinessGatesNotReady"
    assert ready.message == 'corresponding condition of pod readiness gate "example.com/gate" does not exist.'
    pod.status.conditions = [PodCondition(type="example.com/gate", status="True")]
    status = status_of(pod, a=RUNNING)
    assert condition_of(status, "Ready").status == "True"
    assert condition_of(status, "example.com/gate").status == "True", "others' conditions are kept"


def test_a_transition_time_moves_only_when_a_condition_changes() -> None:
    """It shows since when a pod is ready."""
    pod = make_pod("a")
    pod.status = status_of(pod, a=RUNNING)
    later = NOW + timedelta(minutes=5)
    still = pod_status(pod, PodReport(containers={"a": RUNNING}), later)
    assert condition_of(still, "Ready").last_transition_time == NOW
    broken = pod_status(pod, PodReport(containers={"a": replace(RUNNING, is_ready=False)}), later)
    assert condition_of(broken, "Ready").last_transition_time == later
    assert condition_of(broken, "Initialized").last_transition_time == NOW


def test_a_pod_can_fail_as_a_whole_with_a_reason() -> None:
    """A deadline ends it in any state of its containers."""
    report = PodReport(containers={"a": RUNNING}, failure="DeadlineExceeded", message="too long")
    status = pod_status(make_pod("a"), report, NOW)
    assert (status.phase, status.reason, status.message) == ("Failed", "DeadlineExceeded", "too long")
