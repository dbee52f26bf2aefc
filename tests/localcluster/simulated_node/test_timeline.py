from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.localcluster.container_report import Running, Terminated, Waiting
from steersman.localcluster.simulated_node.script import Script
from steersman.localcluster.simulated_node.timeline import PodObservation, pod_at, stopped_at
from steersman.objects.meta import meta

BEGAN = datetime(2030, 1, 1, tzinfo=UTC)


def at(seconds: float, script: Script, restart: str = "Always") -> PodObservation:
    """Return the state of a pod that many seconds after its node accepted it."""
    pod = Pod(meta("a", uid="u"), spec=PodSpec(containers=[Container(name="c", image="x")], restart_policy=restart))
    return pod_at(pod, script, BEGAN, BEGAN + timedelta(seconds=seconds), host_ip="h", pod_ip="p")


def container(sight: PodObservation) -> tuple[str, int, bool]:
    """Return the state, the restarts and the readiness of the one container."""
    report = sight.report.containers["c"]
    names = {Waiting: "waiting", Running: "running", Terminated: "terminated"}
    return names[type(report.state)], report.restarts, report.is_ready and isinstance(report.state, Running)


def wait(sight: PodObservation) -> float | None:
    """Return the second at which the pod changes by itself."""
    return (sight.until - BEGAN).total_seconds() if sight.until is not None else None


def test_a_slow_pod_starts_and_becomes_ready_after_its_delays() -> None:
    """Two delays, one after the other; afterwards nothing changes."""
    script = Script(start_after=timedelta(seconds=2), ready_after=timedelta(seconds=3))
    assert (container(at(1, script)), wait(at(1, script))) == (("waiting", 0, False), 2)
    assert (container(at(2, script)), wait(at(2, script))) == (("running", 0, False), 5)
    assert (container(at(5, script)), wait(at(5, script))) == (("running", 0, True), None)


def test_a_crashing_container_is_restarted_with_growing_delays() -> None:
    """10, 20, 40 seconds of back-off, at most five minutes, as on a real node."""
    script = Script(run_for=timedelta(seconds=1), exit_code=2)
    assert container(at(0.5, script)) == ("running", 0, True)
    assert (container(at(1, script)), wait(at(1, script))) == (("waiting", 0, False), 11)
    crashed = at(5, script).report.containers["c"]
    assert isinstance(crashed.state, Waiting)
    assert crashed.state.reason == "CrashLoopBackOff"
    assert crashed.last is not None
    assert crashed.last.exit_code == 2
    assert container(at(11, script)) == ("running", 1, True)
    assert wait(at(12, script)) == 32
    assert container(at(32, script)) == ("running", 2, True)
    late = at(100_000, script)
    assert late.until is not None
    assert (late.until - BEGAN).total_seconds() - 100_000 <= 300


def test_a_container_that_is_not_restarted_stays_terminated() -> None:
    """A task succeeds once; a failure counts once."""
    script = Script(run_for=timedelta(seconds=1))
    for policy in ("Never", "OnFailure"):
        assert (container(at(9, script, policy)), wait(at(9, script, policy))) == (("terminated", 0, False), None)
    failing = Script(run_for=timedelta(seconds=1), exit_code=1)
    assert container(at(9, failing, "Never")) == ("terminated", 0, False)
    assert container(at(15, failing, "OnFailure")) == ("waiting", 1, False)


def test_a_missing_image_is_never_pulled() -> None:
    """The reason is the one that the author requested."""
    found = at(60, Script(pull_failure="ImagePullBackOff")).report.containers["c"]
    assert isinstance(found.state, Waiting)
    assert found.state.reason == "ImagePullBackOff"


@given(
    st.builds(
        Script,
        start_after=st.integers(0, 5).map(lambda n: timedelta(seconds=n)),
        ready_after=st.integers(0, 5).map(lambda n: timedelta(seconds=n)),
        run_for=st.none() | st.integers(0, 20).map(lambda n: timedelta(seconds=n)),
        exit_code=st.integers(0, 1),
    ),
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.integers(0, 600),
)
@settings(max_examples=60, deadline=None)
def test_nothing_changes_before_the_next_computed_change(script: Script, restart: str, second: int) -> None:
    """A node that sleeps until then misses nothing."""
    now = at(second, script, restart)
    if now.until is None:
        later = at(second + 1000, script, restart)
        assert later == now
        return
    assert now.until > BEGAN + timedelta(seconds=second)
    before = (now.until - BEGAN).total_seconds() - 0.001
    assert at(before, script, restart).report == now.report
    assert at(before + 0.001, script, restart).report != now.report


def test_a_pod_stops_when_it_is_done_or_at_the_end_of_its_grace_period() -> None:
    """Graceful, but not forever."""
    pod = Pod(
        meta("a", deletion_timestamp=BEGAN + timedelta(seconds=30), deletion_grace_period_seconds=30),
        spec=PodSpec(containers=[]),
    )
    assert stopped_at(pod, Script(), BEGAN) == BEGAN
    assert stopped_at(pod, Script(stop_after=timedelta(seconds=5)), BEGAN) == BEGAN + timedelta(seconds=5)
    assert stopped_at(pod, Script(stop_after=timedelta(hours=5)), BEGAN) == BEGAN + timedelta(seconds=30)
