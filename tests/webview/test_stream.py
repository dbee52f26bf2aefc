"""Live updates: bounded, merged, and stopped for a client that does not read."""

import asyncio
from threading import Thread
from typing import Any

from msgspec import json

from steersman.clock import RealClock
from steersman.history.records import ObjectName
from steersman.serving.server import Server
from steersman.testing.fake_clock import FakeClock
from steersman.webview.stream import HEARTBEAT, MOST_CLIENTS, MOST_OBJECTS, MOST_UNREAD, PERIOD, LiveUpdates
from tests.support.fake_exchange import FakeExchange, FakeStream
from tests.webview.asking import TOKEN, error, request, view_of
from tests.webview.sample import SampleOperator

A, B = ObjectName("Website", "shop", "a"), ObjectName("Website", "shop", "b")


def _messages(stream: FakeStream) -> list[tuple[str, Any]]:
    """Return the events of a stream, and remove them."""
    blocks = b"".join(stream.chunks).decode().split("\n\n")[:-1]
    stream.chunks.clear()
    lines = [block.split("\n") for block in blocks]
    return [(event.removeprefix("event: "), json.decode(data.removeprefix("data: "))) for event, data in lines]


async def test_a_client_first_gets_everything_then_changes() -> None:
    """Two runs of an object within a moment are one line, and both runs are listed."""
    clock = FakeClock()
    operator = SampleOperator(clock)
    operator.put(A)
    updates, stream = LiveUpdates(operator, clock), FakeStream()
    updates.attach(stream)
    assert [event for event, _ in _messages(stream)] == ["overview"]
    operator.run(A)
    operator.run(A)
    operator.run(B)
    await clock.advance(PERIOD)
    ((event, changed),) = _messages(stream)
    assert event == "changed"
    assert [one["object"][2] for one in changed["summaries"]] == ["a"]
    assert changed["gone"] == [list(B)]
    assert [(run["object"][2], run["number"]) for run in changed["runs"]] == [("b", 1), ("a", 2), ("a", 1)]


async def test_a_review_updates_its_object_and_a_change_of_leadership_everything() -> None:
    """Both are on the timeline of an object, and neither comes with a run."""
    clock = FakeClock()
    operator = SampleOperator(clock)
    operator.put(A)
    updates, stream = LiveUpdates(operator, clock), FakeStream()
    updates.attach(stream)
    _messages(stream)
    operator.review(A, is_allowed=False, message="no")
    await clock.advance(PERIOD)
    ((event, changed),) = _messages(stream)
    assert (event, [one["object"][2] for one in changed["summaries"]]) == ("changed", ["a"])
    operator.lead(is_leader=False, reason="stopping")
    await clock.advance(PERIOD)
    ((event, changed),) = _messages(stream)
    assert (event, changed["reload"]) == ("changed", True)
    stream.close()
    assert operator.history.listener_count == 0


async def test_there_is_a_heartbeat_every_two_seconds() -> None:
    """A page must distinguish a quiet operator from a dead one."""
    clock = FakeClock()
    updates, stream = LiveUpdates(SampleOperator(clock), clock), FakeStream()
    updates.attach(stream)
    _messages(stream)
    await clock.advance(3 * HEARTBEAT)
    assert [event for event, _ in _messages(stream)] == ["overview"] * 3


async def test_when_very_much_changes_clients_reload_everything() -> None:
    """A message is bounded however busy the operator is, and so is the memory between two messages."""
    clock = FakeClock()
    operator = SampleOperator(clock)
    updates, stream = LiveUpdates(operator, clock), FakeStream()
    updates.attach(stream)
    _messages(stream)
    for number in range(MOST_OBJECTS * 20):
        operator.run(ObjectName("Website", "shop", f"site-{number}"))
    assert len(updates._changed) == MOST_OBJECTS
    await clock.advance(PERIOD)
    ((_, changed),) = _messages(stream)
    assert changed["reload"] is True
    assert "summaries" not in changed
    operator.run(A)
    await clock.advance(PERIOD)
    assert "reload" not in _messages(stream)[0][1]


async def test_a_client_that_reads_again_reloads_what_it_missed() -> None:
    """Messages for a slow client are dropped; it must not assume that nothing happened."""
    clock = FakeClock()
    updates, stream = LiveUpdates(SampleOperator(clock), clock), FakeStream()
    updates.attach(stream)
    _messages(stream)
    stream.is_writable = False
    await clock.advance(HEARTBEAT)
    assert _messages(stream) == []
    stream.is_writable = True
    await clock.advance(HEARTBEAT)
    assert [(event, data.get("reload")) for event, data in _messages(stream)] == [("changed", True), ("overview", None)]
    await clock.advance(HEARTBEAT)
    assert [event for event, _ in _messages(stream)] == ["overview"]


async def test_a_client_that_never_reads_is_disconnected() -> None:
    """A suspended laptop must not hold a connection of a production operator forever; others continue."""
    clock = FakeClock()
    updates, slow, good = LiveUpdates(SampleOperator(clock), clock), FakeStream(), FakeStream()
    updates.attach(slow)
    updates.attach(good)
    slow.is_writable = False
    await clock.advance(HEARTBEAT * (MOST_UNREAD - 1))
    assert slow.is_open
    await clock.advance(HEARTBEAT)
    assert not slow.is_open
    assert good.is_open
    assert len(updates._clients) == 1


async def test_without_clients_nothing_listens_and_no_timer_runs() -> None:
    """A view without readers costs nothing."""
    clock = FakeClock()
    operator = SampleOperator(clock)
    updates, stream = LiveUpdates(operator, clock), FakeStream()
    assert operator.history.listener_count == 0
    updates.attach(stream)
    operator.run(A)
    await clock.settle()
    assert operator.history.listener_count == 3
    stream.close()
    assert operator.history.listener_count == 0
    assert clock.timers == 0
    assert not updates._changed
    await clock.advance(10)
    updates.attach(again := FakeStream())
    operator.run(A)
    await clock.advance(PERIOD)
    assert [event for event, _ in _messages(again)] == ["overview", "changed"]


async def test_runs_of_other_threads_arrive() -> None:
    """Any thread may add to a history; the event loop must wake up for it."""
    clock = FakeClock()
    operator = SampleOperator(clock)
    operator.put(A)
    updates, stream = LiveUpdates(operator, clock), FakeStream()
    updates.attach(stream)
    _messages(stream)
    thread = Thread(target=operator.run, args=(A,))
    thread.start()
    thread.join()
    await clock.advance(PERIOD)
    assert [event for event, _ in _messages(stream)] == ["changed"]


async def test_the_number_of_open_pages_is_limited() -> None:
    """Each of them costs a message for every change."""
    app = view_of(SampleOperator(FakeClock()))
    for _ in range(MOST_CLIENTS):
        app.handle(request("/api/stream"), exchange := FakeExchange())
        assert exchange.open_stream is not None
    app.handle(request("/api/stream"), refused := FakeExchange())
    assert refused.response is not None
    assert (refused.response.status, error(refused.response)) == (
        503,
        "Too many pages are open: close one, and this one connects again.",
    )


async def test_a_stream_goes_over_a_real_socket() -> None:
    """The server sends each message at once, and ends the stream when the client disconnects."""
    operator = SampleOperator(RealClock())
    operator.put(A)
    app = view_of(operator)
    async with Server(app, clock=RealClock()) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"GET /api/stream HTTP/1.1\r\nhost: localhost:{server.port}\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
        writer.write(head.encode())
        async with asyncio.timeout(30):
            answer = await reader.readuntil(b"\n\n")
        writer.transport.abort()
        assert b"content-type: text/event-stream" in answer
        assert answer.endswith(b"\n\n")
        assert b"event: overview\n" in answer
