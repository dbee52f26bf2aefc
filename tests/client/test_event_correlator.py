"""Which events are written: series, aggregated similar ones, and rate limits, with the numbers of client-go."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.client.event_correlator import (
    BURST,
    REMEMBERED,
    Create,
    EventCorrelator,
    Extend,
    RecordedEvent,
    Regarding,
    Write,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


class Recorder:
    """Feeds a correlator, with time in seconds."""

    def __init__(self) -> None:
        self.correlator = EventCorrelator()
        self.now = 0.0

    def add(self, note: str = "n", reason: str = "Failed", name: str = "a") -> Write | None:
        """Record an event now."""
        event = RecordedEvent(Regarding("v1", "Pod", name, "default", f"uid-{name}"), "Warning", reason, note)
        return self.correlator.add(event, now=self.now, wall=START + timedelta(seconds=self.now))


def test_first_event_is_written_and_the_second_makes_it_a_series() -> None:
    """Users see at once that something repeats."""
    recorder = Recorder()
    first = recorder.add()
    assert isinstance(first, Create)
    recorder.now = 5
    second = recorder.add()
    assert second == Extend(first.id, first.event, 2, START + timedelta(seconds=5))


def test_further_repetitions_are_counted_and_not_written() -> None:
    """A crash loop must not become a write loop."""
    recorder = Recorder()
    recorder.add()
    recorder.add()
    for _ in range(100):
        recorder.now += 1
        assert recorder.add() is None


def test_series_without_news_for_six_minutes_is_finished() -> None:
    """Users read the final count and time afterwards."""
    recorder = Recorder()
    recorder.add()
    for _ in range(10):
        recorder.now += 1
        recorder.add()
    assert recorder.correlator.tick(now=300) == []
    (last,) = recorder.correlator.tick(now=400)
    assert isinstance(last, Extend)
    assert (last.count, last.last) == (11, START + timedelta(seconds=10))
    assert recorder.correlator.tick(now=500) == []


def test_event_after_the_end_of_its_series_is_a_new_one() -> None:
    """A new occurrence after the end is another incident."""
    recorder = Recorder()
    first = recorder.add()
    recorder.now = 361
    again = recorder.add()
    assert isinstance(first, Create)
    assert isinstance(again, Create)
    assert again.id != first.id


def test_long_series_is_updated_every_half_hour() -> None:
    """The server deletes events after an hour unless they are written again."""
    recorder = Recorder()
    recorder.add()
    recorder.add()
    writes = []
    for _ in range(65):
        recorder.now += 60
        writes += [recorder.add()]
    counts = [write.count for write in writes if isinstance(write, Extend)]
    assert counts == [32, 62]


def test_series_that_is_due_is_updated_by_the_clock_as_well() -> None:
    """An event just before the half hour must not wait for the next one."""
    recorder = Recorder()
    recorder.add()
    recorder.add()
    for seconds in range(300, 1800, 300):
        recorder.now = seconds
        assert recorder.add() is None
    assert recorder.correlator.tick(now=1799) == []
    (write,) = recorder.correlator.tick(now=1801)
    assert isinstance(write, Extend)
    assert write.count == 7


def test_different_reasons_and_objects_are_different_events() -> None:
    """Only the same reason about the same object is a repetition."""
    recorder = Recorder()
    writes = [recorder.add(), recorder.add(reason="Other"), recorder.add(name="b"), recorder.add(note="m")]
    assert all(isinstance(write, Create) for write in writes)


def test_eleventh_similar_event_within_ten_minutes_stands_for_all_later_ones() -> None:
    """Notes that contain counters or addresses would be new events forever."""
    recorder = Recorder()
    writes = [recorder.add(note=f"try {number}") for number in range(12)]
    assert [type(write).__name__ for write in writes] == ["Create"] * 11 + ["Extend"]
    assert isinstance(writes[10], Create)
    assert writes[10].event.note == "(combined from similar events): try 10"


def test_similar_events_are_separate_again_after_ten_minutes() -> None:
    """Aggregation is for floods only."""
    recorder = Recorder()
    for number in range(11):
        recorder.add(note=f"try {number}")
    recorder.now = 601
    write = recorder.add(note="try 11")
    assert isinstance(write, Create)
    assert write.event.note == "try 11"


def test_events_about_one_object_are_limited_after_25_writes() -> None:
    """Then one write every five minutes is allowed; other objects are not affected."""
    recorder = Recorder()
    writes = [recorder.add(reason=f"R{number}") for number in range(40)]
    assert sum(write is not None for write in writes) == BURST
    assert recorder.add(name="other") is not None
    recorder.now = 299
    assert recorder.add(reason="X") is None
    recorder.now = 301
    assert recorder.add(reason="Y") is not None
    assert recorder.add(reason="Z") is None


def test_texts_are_cut_to_the_limits_of_the_server() -> None:
    """An event must not be rejected because a message is long; characters are not cut in half."""
    write = EventCorrelator().add(
        RecordedEvent(Regarding("v1", "Pod", "a"), "Normal", "R" * 200, "é" * 1000, "A" * 200), now=0, wall=START
    )
    assert isinstance(write, Create)
    event = write.event
    assert (len(event.reason), len(event.action)) == (128, 128)
    assert len(event.note.encode()) <= 1024
    assert event.note.endswith("é…")


def test_memory_is_bounded() -> None:
    """A controller of a million objects must not remember them all."""
    recorder = Recorder()
    for number in range(REMEMBERED + 500):
        recorder.add(name=str(number))
    assert repr(recorder.correlator) == f"<EventCorrelator series={REMEMBERED} objects={REMEMBERED}>"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 200), st.sampled_from("abc")), max_size=60))
def test_last_write_of_every_event_has_its_true_count(happenings: list[tuple[float, str]]) -> None:
    """At any times, the last write of an event contains how often it happened."""
    recorder = Recorder()
    happened: dict[int, int] = {}
    written: dict[int, int] = {}
    current: dict[str, int] = {}
    writes: list[tuple[str, Write | None]] = []
    for seconds, reason in happenings:
        recorder.now += seconds
        writes = [("", write) for write in recorder.correlator.tick(now=recorder.now)]
        writes.append((reason, recorder.add(reason=reason)))
        for name, write in writes:
            if isinstance(write, Create):
                current[name] = write.id
                written[write.id] = 1
            elif isinstance(write, Extend):
                written[write.id] = write.count
        happened[current[reason]] = happened.get(current[reason], 0) + 1
    for write in recorder.correlator.tick(now=recorder.now + 100_000):
        assert isinstance(write, Extend)
        written[write.id] = write.count
    if len(happenings) <= BURST:
        assert written == happened
