"""Steps of a plan are found again although their order and versions differ between runs."""

from steersman.simulation.binaries.step_matching import StepMatcher, same_view
from steersman.simulation.faults.plans import View, parse_plan
from steersman.simulation.faults.recording import EventStep, Recording, WriteStep

PODS = "/api/v1/pods"


def write(number: int, target: str) -> WriteStep:
    """Return a write."""
    return WriteStep(number, 1, "PUT", target, 0.0)


def event(number: int, path: str, version: str, kind: str = "MODIFIED") -> EventStep:
    """Return an event of a watch of pods."""
    return EventStep(number, 1, PODS, kind, path, version)


def test_a_write_is_found_by_its_object_and_not_by_its_number() -> None:
    """Two threads write two objects in any order; the fault belongs to one of them."""
    recorded = Recording(writes=[write(1, "/a"), write(2, "/b"), write(3, "/a")])
    matcher = StepMatcher(parse_plan("crash-after@write:3"), recorded)
    run = [write(1, "/b"), write(2, "/a"), write(3, "/b"), write(4, "/a"), write(5, "/a")]
    assert [matcher.fault_at(step) is not None for step in run] == [False, False, False, True, False]


def test_a_fault_at_a_step_that_does_not_exist_is_never_injected() -> None:
    """A plan of an older run may name a step that no longer exists."""
    matcher = StepMatcher(parse_plan("crash-after@write:7"), Recording(writes=[write(1, "/a")]))
    assert matcher.fault_at(write(7, "/a")) is None


def test_an_old_state_is_found_by_the_event_that_created_it() -> None:
    """Versions differ between runs, so that of the recorded run is useless in another one."""
    recorded = Recording(events=[event(1, "d/a", "11"), event(2, "d/b", "12"), event(3, "d/a", "13")])
    recorded.watched = {PODS: "10"}
    current = Recording(events=[event(1, "d/b", "51"), event(2, "d/a", "53"), event(3, "d/a", "57")])
    current.watched = {PODS: "50"}
    assert same_view(View(PODS, "13"), recorded, current) == View(PODS, "57")
    assert same_view(View(PODS, "10"), recorded, current) == View(PODS, "50")
    assert same_view(View(PODS, "13"), recorded, Recording()) is None
