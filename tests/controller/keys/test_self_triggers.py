"""Keys that trigger themselves are detected, named and slowed down; progress does not count as a loop."""

from steersman.controller.keys.key_state import KeyState
from steersman.controller.keys.self_triggers import HotLoops, changed_fields
from steersman.controller.reports.writes import Target
from steersman.objects.identity import GroupVersionKind, ObjectKey
from tests.controller.conftest import record

GVK = GroupVersionKind("", "v1", "ConfigMap")
CHILD = Target(GVK, ObjectKey("ns", "child"))


def test_repeated_updates_of_one_object_caused_by_themselves_are_a_loop() -> None:
    """The common cases: two writers of one field, or a value that is new each time."""
    loops, state = HotLoops(threshold=3), KeyState(ObjectKey("ns", "a"))
    loops.ran(state, [CHILD], by_itself=False, now=0.0)
    loops.ran(state, [CHILD], by_itself=True, now=0.0)
    assert loops.loop(state) is None
    assert loops.is_suspect(state, CHILD)
    assert state.streak is not None
    state.streak.fields[CHILD] = ("/data/time",)
    loops.ran(state, [CHILD], by_itself=True, now=0.0)
    loop = loops.loop(state)
    assert loop is not None
    assert (loop.target, loop.fields, loop.runs, loop.wait) == (CHILD, ("/data/time",), 3, 1.0)


def test_the_delay_grows_while_the_loop_continues() -> None:
    """An endless loop costs less and less."""
    loops, state = HotLoops(threshold=1), KeyState(ObjectKey("ns", "a"))
    waits = []
    for _ in range(12):
        loops.ran(state, [CHILD], by_itself=True, now=0.0)
        loop = loops.loop(state)
        assert loop is not None
        waits.append(loop.wait)
    assert waits[:3] == [1.0, 2.0, 4.0]
    assert waits[-1] == 300.0


def test_another_cause_ends_the_loop() -> None:
    """A user's change is not part of the loop, whether it leads to a write or not."""
    loops, state = HotLoops(threshold=2), KeyState(ObjectKey("ns", "a"))
    for written in ([CHILD], []):
        loops.ran(state, [CHILD], by_itself=True, now=0.0)
        loops.ran(state, [CHILD], by_itself=True, now=0.0)
        assert loops.loop(state) is not None
        loops.ran(state, written, by_itself=False, now=0.0)
        assert loops.loop(state) is None


def test_the_event_of_an_own_write_does_not_end_the_loop() -> None:
    """When two controllers fight, every creation is seen before the deletion that follows it."""
    loops, state = HotLoops(threshold=3), KeyState(ObjectKey("ns", "a"))
    for _ in range(3):
        loops.ran(state, [CHILD], by_itself=True, now=0.0)
        loops.ran(state, [], by_itself=True, now=0.0)
    assert loops.loop(state) is not None


def test_runs_far_apart_are_not_a_loop() -> None:
    """A user who deletes a child once a day must not cause a delay."""
    loops, state = HotLoops(threshold=2), KeyState(ObjectKey("ns", "a"))
    for day in range(10):
        loops.ran(state, [CHILD], by_itself=True, now=day * 86_400.0)
    assert loops.loop(state) is None


def test_updating_another_object_each_time_is_progress() -> None:
    """A hundred children, one per run, are not a loop."""
    loops, state = HotLoops(threshold=3), KeyState(ObjectKey("ns", "a"))
    for n in range(100):
        loops.ran(state, [Target(GVK, ObjectKey("ns", str(n)))], by_itself=True, now=0.0)
    assert loops.loop(state) is None


def test_the_changing_field_is_named_without_noise() -> None:
    """Versions change with every write and explain nothing."""
    old = record(version="1", generation=1, spec={"size": 1, "time": "a"})
    new = record(version="2", generation=2, spec={"size": 1, "time": "b"})
    assert changed_fields(old, new) == ("/spec/time",)
