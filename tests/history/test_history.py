"""What is stored about an operator's reconciles, and what is dropped at the limits."""

import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from steersman.history.history import History, HistoryLimits
from steersman.history.records import (
    CauseRecord,
    CauseType,
    ConditionRecord,
    EventRecord,
    ExternalWriteRecord,
    FieldChange,
    Next,
    ObjectName,
    Read,
    Reconcile,
    Result,
    Verb,
    WriteRecord,
)

NOW = datetime(2026, 11, 16, 10, 37, 55, 102_000, tzinfo=UTC)


def named(name: str) -> ObjectName:
    """Return the name of a Site."""
    return ObjectName("Site", "default", name)


def run(name: str, number: int, message: str = "") -> Reconcile:
    """Return a reconcile."""
    return Reconcile(
        controller="site", object=named(name), uid="u", number=number, started=NOW, seconds=0.001, message=message
    )


def test_a_record_is_read_as_it_was_added() -> None:
    """Records are stored as bytes: a field lost in encoding would be missing in every view."""
    full = Reconcile(
        controller="site",
        object=named("a"),
        uid="u",
        generation=3,
        number=7,
        failures_before=2,
        is_cleanup=True,
        started=NOW,
        seconds=0.25,
        queued=0.5,
        causes=(CauseRecord(CauseType.CHANGED, named("a"), "spec", (FieldChange("spec.replicas", "2", "3"),)),),
        more_causes=1,
        reads=(Read("Pod", 2, age=0.04), Read("Secret", 0, ObjectName("Secret", "default", "s"))),
        writes=(WriteRecord(Verb.FAILED, named("b"), "12", (FieldChange("x", "", "1"),), 4, "no"),),
        external_writes=(ExternalWriteRecord("dns", "add a record", "succeeded", 0.2),),
        events=(EventRecord("Warning", "Broken", "it is"),),
        conditions=(ConditionRecord("Ready", "False", "Broken", "it is"),),
        result=Result.WAITING,
        reason="NoSecret",
        message="there is none",
        next=Next(NOW, named("b")),
    )
    history = History()
    history.add(full)
    assert history.of(named("a")) == [full]
    assert history.last(named("a")) == full


def test_each_object_keeps_its_newest_records() -> None:
    """A busy object must not push out the last records of a quiet one."""
    history = History(HistoryLimits(per_object=3))
    history.add(run("quiet", 1))
    for number in range(50):
        history.add(run("busy", number))
    assert [one.number for one in history.of(named("busy"))] == [47, 48, 49]
    assert [one.number for one in history.of(named("quiet"))] == [1]
    assert len(history) == 4
    assert [one.number for one in history.newest(2)] == [48, 49]


@pytest.mark.parametrize("limits", [HistoryLimits(records=10), HistoryLimits(bytes=1000)])
def test_the_total_is_bounded_in_number_and_in_bytes(limits: HistoryLimits) -> None:
    """Ten thousand objects with twenty records each would be 100 MB; the oldest of all is dropped first."""
    history = History(limits)
    for number in range(200):
        history.add(run(f"site-{number}", number, "x" * 50))
    assert len(history) <= limits.records
    assert history.bytes <= limits.bytes
    assert history.last(named("site-199")) is not None
    assert history.of(named("site-0")) == []
    assert len(history.objects()) == len(history)


def test_a_record_larger_than_the_limit_is_not_kept() -> None:
    """The limit holds whatever an author writes into a message."""
    history = History(HistoryLimits(bytes=500))
    history.add(run("a", 1, "x" * 1000))
    assert (len(history), history.bytes, history.objects()) == (0, 0, [])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60) | st.none())))
def test_the_counts_agree_with_the_records(steps: list[tuple[str, int | None]]) -> None:
    """Numbers and bytes are counted while records are added and dropped: they must be those of the records."""
    history = History(HistoryLimits(per_object=3, records=6, bytes=900))
    for number, (name, size) in enumerate(steps):
        if size is None:
            history.forget(named(name))
        else:
            history.add(run(name, number, "x" * size))
    kept = [one for name in history.objects() for one in history.of(name)]
    assert len(kept) == len(history) == len(history.newest(100))
    assert all(history.of(name) for name in history.objects())
    fresh = History(HistoryLimits(per_object=100))
    for one in kept:
        fresh.add(one)
    assert fresh.bytes == history.bytes
    assert [one.number for one in history.each_last()] == [history.of(name)[-1].number for name in history.objects()]


def test_listeners_are_notified_until_they_end() -> None:
    """Logs, metrics and the web view follow the stream."""
    history, heard = History(), list[int]()
    end = history.listen(lambda one: heard.append(one.number))
    history.add(run("a", 1))
    end()
    history.add(run("a", 2))
    assert heard == [1]


def test_it_can_be_read_while_another_thread_adds() -> None:
    """The web view reads in its own thread; an OrderedDict that changes during iteration raises."""
    history = History(HistoryLimits(per_object=5, records=50))
    stop, failures = threading.Event(), list[BaseException]()

    def read() -> None:
        try:
            while not stop.is_set():
                history.newest(50)
                list(history.each_last())
        except BaseException as error:  # noqa: BLE001 - told to the main thread
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(5000):
        history.add(run(f"site-{number % 20}", number))
    stop.set()
    reader.join()
    assert failures == []


def test_one_huge_record_does_not_push_out_the_others() -> None:
    """A text of megabytes in one object must not erase what is known of all other objects."""
    history = History(HistoryLimits(bytes=100_000))
    for number in range(10):
        history.add(run(f"quiet-{number}", 1))
    many = tuple(FieldChange("p" * 100, "b" * 60, "a" * 60) for _ in range(8))
    huge = replace(
        run("huge", 1, "m" * 1_000_000),
        writes=tuple(WriteRecord(Verb.CHANGED, named(f"child-{number}"), "1", many) for number in range(1000)),
        conditions=(ConditionRecord("Ready", "False", "Broken", "c" * 1_000_000),),
        events=(EventRecord("Warning", "Broken", "e" * 1_000_000),),
    )
    history.add(huge)
    assert len(history) == 11
    assert history.bytes < 20_000
    [kept] = history.of(named("huge"))
    assert (kept.is_cut, kept.writes[0].more_changes, kept.number) == (True, 8, 1)


def test_equal_kinds_of_two_groups_are_two_objects() -> None:
    """``Cluster`` of two vendors in one operator: their runs must not mix."""
    history = History()
    one, other = named("a")._replace(group="one.example.com"), named("a")._replace(group="two.example.com")
    for name, number in ((one, 1), (other, 2)):
        history.add(replace(run("a", number), object=name))
    assert [[found.number for found in history.of(name)] for name in (one, other)] == [[1], [2]]
