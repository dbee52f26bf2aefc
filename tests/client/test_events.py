"""The recorder: events reach the server when possible, and never disturb the reconciler that records them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from steersman.client import events
from steersman.client.client import Client
from steersman.client.events import EventRecorder
from steersman.concurrency import background
from steersman.errors import ConnectionFailed
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.meta import meta
from steersman.objects.resource import Unstructured
from steersman.testing.fake_clock import FakeClock
from tests.client.conftest import ScriptedTransport, failure

WRITTEN = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "n"}}
OBJECT = ConfigMap(meta("a", namespace="n", uid="u"))


@pytest.fixture
def recorder(client: Client, clock: FakeClock) -> EventRecorder:
    """Return a recorder that does not run yet."""
    return EventRecorder(client, controller="demo.dev/tester", instance="tester-0", clock=clock)


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    """Run the recorder beside the block."""
    async with background(recorder.run(), name="events"):
        yield


async def test_event_has_every_field_that_the_server_requires(
    recorder: EventRecorder, transport: ScriptedTransport
) -> None:
    """The new API has more required fields than the old one."""
    transport.answers.append(WRITTEN)
    async with running(recorder):
        recorder.record(OBJECT, "Warning", "Broken", "it broke")
        await recorder.wait_sent()
    assert transport.lines[0].startswith("POST /apis/events.k8s.io/v1/namespaces/n/events?")
    body = transport.body()
    assert body.pop("metadata")["name"].startswith("a.")
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "action": "Reconcile",
        "eventTime": "2030-01-01T00:00:00.000000Z",
        "note": "it broke",
        "reason": "Broken",
        "regarding": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "n", "uid": "u"},
        "reportingController": "demo.dev/tester",
        "reportingInstance": "tester-0",
        "type": "Warning",
    }


async def test_repeated_event_becomes_a_series_of_the_first(
    recorder: EventRecorder, transport: ScriptedTransport
) -> None:
    """One object on the server, however often it happens."""
    transport.answers += [WRITTEN, WRITTEN]
    async with running(recorder):
        for _ in range(5):
            recorder.record(OBJECT, "Normal", "Synced", "done")
        await recorder.wait_sent()
    name = transport.body(0)["metadata"]["name"]
    assert transport.lines[1].partition("?")[0] == f"PATCH /apis/events.k8s.io/v1/namespaces/n/events/{name}"
    assert transport.body(1) == {"series": {"count": 2, "lastObservedTime": "2030-01-01T00:00:00.000000Z"}}
    assert len(transport.asked) == 2


async def test_series_whose_event_expired_continues_in_a_new_one(
    recorder: EventRecorder, transport: ScriptedTransport
) -> None:
    """The server keeps events for an hour."""
    forgotten = {**failure(404, "NotFound"), "details": {"name": "a", "group": "events.k8s.io", "kind": "events"}}
    transport.answers += [WRITTEN, forgotten, WRITTEN]
    async with running(recorder):
        recorder.record(OBJECT, "Normal", "Synced", "done")
        recorder.record(OBJECT, "Normal", "Synced", "done")
        await recorder.wait_sent()
    assert transport.body(2)["series"]["count"] == 2


async def test_series_is_finished_when_it_is_over(
    recorder: EventRecorder, transport: ScriptedTransport, clock: FakeClock
) -> None:
    """The recorder checks by itself, without another event."""
    transport.answers += [WRITTEN, WRITTEN, WRITTEN]
    async with running(recorder):
        for _ in range(7):
            recorder.record(OBJECT, "Normal", "Synced", "done")
        await clock.advance(500)
    assert transport.body()["series"]["count"] == 7


async def test_unreachable_server_is_tried_twelve_times_then_the_event_is_dropped(
    recorder: EventRecorder, transport: ScriptedTransport, clock: FakeClock
) -> None:
    """An event that is two minutes late is useless; the next one is retried from the start."""
    transport.answers += [ConnectionFailed("refused")] * 12 + [WRITTEN]
    async with running(recorder):
        recorder.record(OBJECT, "Normal", "One", "x")
        await clock.advance(109)
        assert (len(transport.asked), recorder.dropped) == (11, 0)
        recorder.record(OBJECT, "Normal", "Two", "x")
        await clock.advance(2)
        assert (len(transport.asked), recorder.dropped) == (13, 1)
    names = {transport.body(index)["metadata"]["name"] for index in range(12)}
    assert len(names) == 1, "a try whose answer was lost must not become a second event"


async def test_event_that_was_stored_although_its_answer_was_lost_counts_as_written(
    recorder: EventRecorder, transport: ScriptedTransport, clock: FakeClock
) -> None:
    """The second attempt finds it."""
    transport.answers += [ConnectionFailed("reset"), failure(409, "AlreadyExists")]
    async with running(recorder):
        recorder.record(OBJECT, "Normal", "One", "x")
        await clock.advance(20)
    assert (len(transport.asked), recorder.dropped) == (2, 0)


async def test_rejected_event_is_dropped_at_once(recorder: EventRecorder, transport: ScriptedTransport) -> None:
    """A namespace that is being deleted accepts no events; retrying would not change that."""
    transport.answers += [failure(403, "Forbidden"), WRITTEN]
    async with running(recorder):
        recorder.record(OBJECT, "Normal", "One", "x")
        recorder.record(OBJECT, "Normal", "Two", "x")
        await recorder.wait_sent()
    assert (len(transport.asked), recorder.dropped) == (2, 1)


async def test_recording_never_waits_and_never_fills_the_memory(
    recorder: EventRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If nothing is sent, the queue is bounded."""
    monkeypatch.setattr(events, "QUEUE", 10)
    for number in range(30):
        recorder.record(ConfigMap(meta(f"o{number}", namespace="n")), "Normal", "R", "x")
    assert repr(recorder) == "<EventRecorder demo.dev/tester waiting=10 dropped=20>"


async def test_recording_never_raises(recorder: EventRecorder, caplog: pytest.LogCaptureFixture) -> None:
    """An invalid object is the recorder's problem, not the reconciler's."""
    broken = Unstructured({"apiVersion": "v1", "kind": "X"})
    broken.content = {}
    recorder.record(broken, "Normal", "R", "x")
    assert "cannot record an event" in caplog.text


async def test_events_about_cluster_scoped_objects_go_to_the_default_namespace(
    recorder: EventRecorder, transport: ScriptedTransport
) -> None:
    """Events are namespaced, but not all objects are."""
    transport.answers.append(WRITTEN)
    async with running(recorder):
        recorder.record(ConfigMap(meta("a")), "Normal", "R", "x")
        await recorder.wait_sent()
    assert "/namespaces/default/events" in transport.lines[0]


async def test_cancelled_recorder_stops(recorder: EventRecorder, transport: ScriptedTransport) -> None:
    """Its tasks end with it, also in the middle of a retry."""
    transport.answers.append(ConnectionFailed("refused"))
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(recorder.run())
        recorder.record(OBJECT, "Normal", "R", "x")
        while not transport.asked:
            await recorder._clock.settle()  # type: ignore[attr-defined] # the fake clock of these tests
        task.cancel()
    assert task.cancelled()


async def test_two_recorders_may_report_one_object_at_the_same_moment(
    client: Client, clock: FakeClock, transport: ScriptedTransport
) -> None:
    """With a clock that does not advance all events have one time: none may count as a repetition of another's."""
    names = []
    for controller in ("scheduler", "node"):
        transport.answers.append(WRITTEN)
        recorder = EventRecorder(client, controller=controller, instance="", clock=clock)
        async with running(recorder):
            recorder.record(OBJECT, "Normal", "Seen", "it is there")
            await recorder.wait_sent()
        names.append(transport.body(len(names))["metadata"]["name"])
    assert len(set(names)) == 2
