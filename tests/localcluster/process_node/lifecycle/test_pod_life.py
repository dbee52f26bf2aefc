"""The rules of a pod's lifecycle, without processes and waiting."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman import meta
from steersman.kinds.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStatus,
    ExecAction,
    Lifecycle,
    LifecycleHandler,
    Pod,
    PodSpec,
    PodStatus,
    Probe,
)
from steersman.localcluster.container_report import Running, Terminated, Waiting
from steersman.localcluster.process_node.lifecycle.actions import (
    Action,
    EmitEvent,
    RunHook,
    RunProbe,
    SendSignal,
    Start,
)
from steersman.localcluster.process_node.lifecycle.instant import Instant
from steersman.localcluster.process_node.lifecycle.pod_lifecycle import PodLifecycle
from steersman.localcluster.process_node.lifecycle.probe_watch import ProbeKind

WALL = datetime(2030, 1, 1, tzinfo=UTC)
EXEC = ExecAction(command=["true"])
HOOK = LifecycleHandler(exec=EXEC)


def at(seconds: float) -> Instant:
    """Return the time that many seconds after the start."""
    return Instant(seconds, WALL + timedelta(seconds=seconds))


def plain(name: str, *, restart_policy: str | None = None, startup_probe: Probe | None = None) -> Container:
    """Return a container without options."""
    return Container(name=name, image="i", restart_policy=restart_policy, startup_probe=startup_probe)


def life_of(
    *containers: Container, inits: list[Container] | None = None, policy: str = "Always", **spec: int
) -> PodLifecycle:
    """Return the lifecycle of a pod that was accepted at second 0."""
    pod_spec = PodSpec(containers=list(containers), init_containers=inits, restart_policy=policy, **spec)  # type: ignore[arg-type]  # numbers by name
    return PodLifecycle(Pod(meta("p", namespace="ns", uid="u"), spec=pod_spec), at(0))


def important(actions: list[Action]) -> list[Action]:
    """Leave out effects that only inform users."""
    return [action for action in actions if not isinstance(action, EmitEvent)]


def run(life: PodLifecycle, name: str, now: float = 0.0) -> None:
    """Mark a requested container as running."""
    life.containers[name].started(at(now), f"process://{name}-{now}")


def started(life: PodLifecycle, now: float = 0.0) -> list[str]:
    """Start all containers that are due now, and return their names."""
    names = [action.container for action in life.decide(now) if isinstance(action, Start)]
    for name in names:
        run(life, name, now)
    return names


def test_all_containers_start_at_once() -> None:
    """They do not wait for each other."""
    assert started(life_of(plain("a"), plain("b"))) == ["a", "b"]


def test_nothing_is_requested_twice() -> None:
    """A second evaluation while a container is being started must not start another."""
    life = life_of(plain("a"))
    assert life.decide(0) == [Start("a")]
    assert life.decide(0) == []


def test_init_containers_run_one_after_another_and_before_the_others() -> None:
    """Each may rely on the results of the one before it."""
    life = life_of(plain("a"), inits=[plain("i"), plain("j")])
    assert started(life) == ["i"]
    assert started(life) == []
    life.exited("i", at(1), 0)
    assert started(life, 1) == ["j"]
    life.exited("j", at(2), 0)
    assert started(life, 2) == ["a"]


def test_a_failed_init_container_is_retried() -> None:
    """The database it waits for may come up later."""
    life = life_of(plain("a"), inits=[plain("i")])
    started(life)
    life.exited("i", at(1), 1)
    assert started(life, 1) == ["i"]


def test_a_failed_init_container_ends_a_pod_that_is_never_restarted() -> None:
    """There is nothing left to do."""
    life = life_of(plain("a"), inits=[plain("i")], policy="Never")
    started(life)
    life.exited("i", at(1), 1)
    assert started(life, 1) == []
    assert life.is_over


def test_a_sidecar_runs_beside_the_others_and_ends_after_them() -> None:
    """A job with a proxy is done when the job is done."""
    life = life_of(plain("a"), inits=[plain("s", restart_policy="Always"), plain("i")], policy="Never")
    assert started(life) == ["s"]
    assert started(life) == ["i"]
    life.exited("i", at(1), 0)
    assert started(life, 1) == ["a"]
    life.exited("a", at(2), 0)
    assert important(life.decide(2)) == [SendSignal("s", "SIGTERM")]
    assert not life.is_over
    life.exited("s", at(3), 143)
    assert life.is_over
    assert life.decide(3) == []


def test_containers_wait_until_a_sidecar_has_started() -> None:
    """Its startup probe says when."""
    probe = Probe(exec=EXEC, period_seconds=1)
    life = life_of(plain("a"), inits=[plain("s", restart_policy="Always", startup_probe=probe)])
    assert started(life) == ["s"]
    assert life.decide(0) == [RunProbe("s", ProbeKind.STARTUP, 1.0)]
    assert started(life) == []
    life.probed("s", ProbeKind.STARTUP, 0, is_success=True)
    assert started(life) == ["a"]


def test_a_sidecar_is_restarted_with_any_policy() -> None:
    """The other containers need it."""
    life = life_of(plain("a"), inits=[plain("s", restart_policy="Always")], policy="Never")
    started(life)
    started(life)
    life.exited("s", at(1), 0)
    assert started(life, 1) == ["s"]


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Never", 0, False),
        ("Never", 1, False),
    ],
)
def test_the_policy_decides_whether_a_container_restarts(policy: str, code: int, again: bool) -> None:
    """As the API documents it."""
    life = life_of(plain("a"), policy=policy)
    started(life)
    life.exited("a", at(1), code)
    assert (started(life, 1) == ["a"]) is again
    assert life.is_over is not again


def test_a_crashing_container_waits_longer_each_time() -> None:
    """At once, then 10 s, 20 s and so on up to 5 minutes, as in a kubelet."""
    life = life_of(plain("a"))
    started(life)
    now, waits = 0.0, []
    for _ in range(8):
        life.exited("a", at(now), 1)
        wake = life.wakes_at(now) or now
        waits.append(wake - now)
        if wake > now:
            assert started(life, wake - 0.1) == []
        assert started(life, wake) == ["a"]
        now = wake
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]
    assert life.containers["a"].restarts == 8


def test_a_long_run_resets_the_delay() -> None:
    """One crash a day is not a crash loop."""
    life = life_of(plain("a"))
    started(life)
    for now in (0.0, 10.0, 30.0):
        life.exited("a", at(now), 1)
        started(life, life.wakes_at(now) or now)
    life.exited("a", at(50 + 601), 1)
    assert started(life, 50 + 601) == ["a"]


def test_a_crash_loop_is_reported_with_its_delay_and_its_last_exit() -> None:
    """What `kubectl get pods` shows, and what explains it."""
    life = life_of(plain("a"))
    started(life)
    life.exited("a", at(1), 1)
    started(life, 1)
    actions = life.exited("a", at(2), 7)
    report = life.reports(2)["a"]
    assert report.state == Waiting("CrashLoopBackOff", "back-off 10s restarting failed container=a pod=p_ns(u)")
    assert report.last is not None
    assert (report.last.exit_code, report.restarts) == (7, 1)
    assert actions == [EmitEvent("BackOff", "Back-off restarting failed container a in pod p_ns(u)", is_warning=True)]


def test_a_container_that_cannot_be_started_reports_why_and_is_retried() -> None:
    """Its image may be added to the mapping, or its ConfigMap created."""
    life = life_of(plain("a"))
    life.decide(0)
    life.containers["a"].start_failed(0, "ErrImagePull", "no such image", 10)
    assert life.reports(0)["a"].state == Waiting("ErrImagePull", "no such image")
    assert life.decide(9) == []
    assert life.wakes_at(9) == 10
    assert life.decide(10) == [Start("a")]
    assert life.reports(10)["a"].restarts == 0


def test_a_deleted_pod_gets_a_signal_and_is_killed_after_its_grace_period() -> None:
    """SIGTERM, then SIGKILL."""
    life = life_of(plain("a"))
    started(life)
    life.ask_to_stop(5, 30)
    assert life.decide(5) == [EmitEvent("Killing", "Stopping container a"), SendSignal("a", "SIGTERM")]
    assert life.wakes_at(5) == 35
    assert life.decide(34) == []
    assert life.decide(35) == [SendSignal("a", "SIGKILL")]
    assert life.decide(36) == []
    life.exited("a", at(36), 137)
    assert life.is_over
    assert life.reports(36)["a"].state == Terminated(137, WALL, at(36).wall, container_id="process://a-0.0")


def test_a_deleted_pod_is_not_restarted() -> None:
    """Not even if it crashes while it stops."""
    life = life_of(plain("a"))
    started(life)
    life.ask_to_stop(5, 30)
    life.decide(5)
    life.exited("a", at(6), 1)
    assert life.decide(6) == []
    assert life.wakes_at(6) is None


def test_a_pod_deleted_while_it_starts_is_stopped_as_soon_as_it_runs() -> None:
    """A deletion at the wrong moment must not leave a process behind."""
    life = life_of(plain("a"))
    life.decide(0)
    life.ask_to_stop(0, 30)
    assert life.decide(0) == []
    assert not life.is_over
    run(life, "a", 1)
    assert important(life.decide(1)) == [SendSignal("a", "SIGTERM")]


def test_a_second_deletion_can_shorten_but_not_lengthen_the_grace_period() -> None:
    """`kubectl delete --grace-period=1` helps with a pod that hangs."""
    life = life_of(plain("a"))
    started(life)
    life.ask_to_stop(0, 30)
    life.decide(0)
    life.ask_to_stop(1, 1)
    assert life.wakes_at(1) == 2
    life.ask_to_stop(1, 100)
    assert life.wakes_at(1) == 2


def test_a_pre_stop_hook_runs_before_the_signal_within_the_grace_period() -> None:
    """A database steps down first."""
    life = life_of(Container(name="a", lifecycle=Lifecycle(pre_stop=HOOK)))
    started(life)
    life.ask_to_stop(0, 30)
    assert important(life.decide(0)) == [RunHook("a", "preStop")]
    assert life.decide(1) == []
    life.hook_done("a", "preStop", 10)
    assert life.decide(10) == [SendSignal("a", "SIGTERM")]
    assert life.wakes_at(10) == 30


def test_a_pre_stop_hook_that_uses_the_whole_grace_period_leaves_two_seconds() -> None:
    """The container can at least notice its signal."""
    life = life_of(Container(name="a", lifecycle=Lifecycle(pre_stop=HOOK)))
    started(life)
    life.ask_to_stop(0, 30)
    life.decide(0)
    assert life.decide(30) == [SendSignal("a", "SIGTERM")]
    assert life.wakes_at(30) == 32
    assert life.decide(32) == [SendSignal("a", "SIGKILL")]


def test_a_container_can_name_its_stop_signal() -> None:
    """Some programs stop cleanly only with another signal."""
    life = life_of(Container(name="a", lifecycle=Lifecycle(stop_signal="SIGQUIT")))
    started(life)
    life.ask_to_stop(0, 30)
    assert important(life.decide(0)) == [SendSignal("a", "SIGQUIT")]


def test_probes_wait_for_a_container_whose_post_start_hook_runs() -> None:
    """Until then it counts as being created."""
    container = Container(
        name="a", lifecycle=Lifecycle(post_start=HOOK), readiness_probe=Probe(exec=EXEC, period_seconds=1)
    )
    life = life_of(container)
    started(life)
    assert life.decide(0) == [RunHook("a", "postStart")]
    assert life.decide(0) == []
    assert life.reports(0)["a"].state == Waiting()
    life.hook_done("a", "postStart", 1)
    assert life.decide(1) == [RunProbe("a", ProbeKind.READINESS, 1.0)]
    assert isinstance(life.reports(1)["a"].state, Running)


def test_a_failed_post_start_hook_ends_the_container() -> None:
    """It is then restarted by its policy."""
    life = life_of(Container(name="a", lifecycle=Lifecycle(post_start=HOOK)))
    started(life)
    life.decide(0)
    assert life.hook_done("a", "postStart", 0, failure="exit code 1") != []
    assert important(life.decide(0)) == [SendSignal("a", "SIGTERM")]


def test_a_container_is_ready_after_a_success_until_enough_failures() -> None:
    """One failure is not an outage."""
    life = life_of(Container(name="a", readiness_probe=Probe(exec=EXEC, period_seconds=5, failure_threshold=2)))
    started(life)
    seen = []
    for number, answer in enumerate([True, False, False, True]):
        now = number * 5.0
        assert life.decide(now) == [RunProbe("a", ProbeKind.READINESS, 1.0)]
        life.probed("a", ProbeKind.READINESS, now, is_success=answer)
        seen.append(life.reports(now)["a"].is_ready)
        assert life.wakes_at(now) == now + 5
    assert seen == [True, True, False, True]


def test_a_container_that_is_not_ready_yet_is_probed_more_often() -> None:
    """Users do not wait ten seconds for a server that was up after one; its first failures are not reported."""
    life = life_of(Container(name="a", readiness_probe=Probe(exec=EXEC)))
    started(life)
    now, waits, counts = 0.0, [], []
    for _ in range(8):
        life.decide(now)
        counts.append(len(life.probed("a", ProbeKind.READINESS, now, is_success=False)))
        wake = life.wakes_at(now) or now
        waits.append(round(wake - now, 3))
        now = wake
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10]
    assert counts == [0, 0, 0, 1, 1, 1, 1, 1]


def test_a_container_without_probes_is_ready_when_it_runs() -> None:
    """The default of the API."""
    life = life_of(plain("a"))
    started(life)
    assert life.reports(0)["a"].is_ready


def test_a_container_whose_liveness_probe_fails_is_restarted() -> None:
    """After as many failures in a row as its probe says."""
    life = life_of(
        Container(name="a", liveness_probe=Probe(exec=EXEC, initial_delay_seconds=3, period_seconds=1)),
        termination_grace_period_seconds=7,
    )
    started(life)
    assert life.wakes_at(0) == 3
    actions: list[Action] = []
    for now in (3.0, 4.0, 5.0):
        life.decide(now)
        actions = life.probed("a", ProbeKind.LIVENESS, now, is_success=False, why="timeout")
    assert actions == [
        EmitEvent("Unhealthy", "Liveness probe failed: timeout", is_warning=True),
        EmitEvent("Killing", "Container a failed liveness probe, will be restarted"),
    ]
    assert life.decide(5) == [SendSignal("a", "SIGTERM")]
    assert life.wakes_at(5) == 12
    life.exited("a", at(6), 143)
    assert started(life, 6) == ["a"]


def test_a_startup_probe_delays_the_others_and_its_failure_ends_the_container() -> None:
    """A slow start is accepted, up to a limit."""
    probe = Probe(exec=EXEC, period_seconds=1, failure_threshold=2)
    life = life_of(Container(name="a", startup_probe=probe, liveness_probe=Probe(exec=EXEC)))
    started(life)
    assert life.decide(0) == [RunProbe("a", ProbeKind.STARTUP, 1.0)]
    life.probed("a", ProbeKind.STARTUP, 0, is_success=False)
    assert life.decide(1) == [RunProbe("a", ProbeKind.STARTUP, 1.0)]
    life.probed("a", ProbeKind.STARTUP, 1, is_success=False)
    assert important(life.decide(1)) == [SendSignal("a", "SIGTERM")]


def test_a_probe_of_an_earlier_run_is_ignored() -> None:
    """A probe that began before a restart says nothing about the new run."""
    life = life_of(Container(name="a", readiness_probe=Probe(exec=EXEC)))
    started(life)
    life.decide(0)
    life.exited("a", at(1), 1)
    started(life, 1)
    life.probed("a", ProbeKind.READINESS, 1, is_success=True)
    assert not life.reports(1)["a"].is_ready


def test_a_pod_that_is_active_for_too_long_fails() -> None:
    """Its deadline counts from when the node accepted it."""
    life = life_of(plain("a"), active_deadline_seconds=60)
    started(life)
    assert life.wakes_at(0) == 60
    assert important(life.decide(60)) == [SendSignal("a", "SIGTERM")]
    assert life.failure == "DeadlineExceeded"
    life.exited("a", at(61), 143)
    assert life.is_over


def test_a_deadline_that_is_set_later_ends_the_pod() -> None:
    """The field can be set and shortened in a running pod."""
    life = life_of(plain("a"))
    started(life)
    life.follow(Pod(meta("p"), spec=PodSpec(containers=[plain("a")], active_deadline_seconds=5)))
    assert life.wakes_at(0) == 5
    assert important(life.decide(5)) == [SendSignal("a", "SIGTERM")]
    assert life.failure == "DeadlineExceeded"


def test_a_restarted_node_continues_counting_restarts() -> None:
    """The pod existed before; its containers ended with the node."""
    status = ContainerStatus(
        name="a",
        image="i",
        image_id="",
        ready=True,
        restart_count=4,
        state=ContainerState(running=ContainerStateRunning(started_at=WALL)),
    )
    pod = Pod(meta("p"), spec=PodSpec(containers=[plain("a")]), status=PodStatus(container_statuses=[status]))
    life = PodLifecycle(pod, at(0))
    assert started(life) == ["a"]
    report = life.reports(0)["a"]
    assert report.restarts == 5
    assert report.last is not None
    assert report.last.reason == "ContainerStatusUnknown"
