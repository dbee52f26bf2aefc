"""A caller's watch: events in order, whatever happens to the connection."""

import asyncio
from typing import Any

import pytest

from steersman.client.client import Client
from steersman.errors import ConnectionFailed, ConnectionLost, DecodeError, Expired, Forbidden
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import Unstructured
from steersman.protocol.watch_frames import Added, Applied, Deleted, Modified
from steersman.testing.fake_clock import FakeClock
from tests.client.conftest import ScriptedTransport, failure
from tests.support.watch_frames import bookmark, frame, item, page


def shown(event: Applied[Any] | Deleted[Any]) -> str:
    """Return an event as a short text."""
    return f"{type(event).__name__} {event.object.name} {event.object.resource_version}"


async def take(events: Any, count: int) -> list[str]:
    """Return the next events as short texts."""
    return [shown(await anext(events)) for _ in range(count)]


async def test_state_comes_first_then_changes_on_the_same_connection(
    client: Client, transport: ScriptedTransport
) -> None:
    """WatchList needs one request for both."""
    transport.add_stream(
        frame("ADDED", item("a", 3)),
        frame("ADDED", item("b", 2)),
        bookmark(5, end=True),
        frame("MODIFIED", item("a", 6)),
        bookmark(7),
        frame("DELETED", item("b", 8)),
    )
    async with client.watch(ConfigMap) as events:
        assert await take(events, 4) == ["Added a 3", "Added b 2", "Modified a 6", "Deleted b 8"]
    assert len(transport.asked) == 1
    assert transport.open_streams == 0


async def test_an_incomplete_state_is_not_shown(client: Client, transport: ScriptedTransport) -> None:
    """A partial state that is then discarded would have to be revoked."""
    stream = transport.add_stream(frame("ADDED", item("a", 3)))
    stream.finish(ConnectionLost("reset"))
    transport.answers.append(page(item("a", 4), item("b", 2), version=9))
    transport.add_stream()
    async with client.watch(ConfigMap) as events:
        assert await take(events, 2) == ["Added a 4", "Added b 2"]


async def test_server_without_watch_list_is_listed(client: Client, transport: ScriptedTransport) -> None:
    """Older servers reject the parameter."""
    transport.streams.append(failure(422, "Invalid"))
    transport.answers.append(page(item("a", 4), version=9))
    transport.add_stream(frame("MODIFIED", item("a", 10)))
    async with client.watch(ConfigMap) as events:
        assert await take(events, 2) == ["Added a 4", "Modified a 10"]
    assert "resourceVersion=" not in transport.lines[1]
    assert "resourceVersion=9" in transport.lines[2]


async def test_closed_stream_is_resumed_where_it_ended(client: Client, transport: ScriptedTransport) -> None:
    """Servers end every watch at some time; callers need not know."""
    transport.add_stream(frame("ADDED", item("a", 3)), bookmark(5, end=True), bookmark(8), ends=True)
    transport.add_stream(frame("MODIFIED", item("a", 9)))
    async with client.watch(ConfigMap) as events:
        assert await take(events, 2) == ["Added a 3", "Modified a 9"]
    assert "resourceVersion=8" in transport.lines[1]


async def test_changes_between_two_watches_are_reported(client: Client, transport: ScriptedTransport) -> None:
    """After an expired version the state is read again: deleted, changed, recreated and new objects are reported."""
    names = [item("gone", 1), item("same", 2), item("changed", 3), item("reborn", 4, "old")]
    transport.add_stream(*(frame("ADDED", obj) for obj in names), bookmark(5, end=True))
    transport.streams[0].feed(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n')  # type: ignore[union-attr] # a stream
    transport.add_stream(
        frame("ADDED", item("same", 2)),
        frame("ADDED", item("changed", 30)),
        frame("ADDED", item("reborn", 40, "new")),
        frame("ADDED", item("fresh", 50)),
        bookmark(60, end=True),
    )
    async with client.watch(ConfigMap) as events:
        await take(events, 4)
        assert await take(events, 5) == [
            "Deleted gone 1",
            "Deleted reborn 4",
            "Modified changed 30",
            "Added reborn 40",
            "Added fresh 50",
        ]


async def test_watch_waits_for_an_unreachable_server(
    client: Client, transport: ScriptedTransport, clock: FakeClock
) -> None:
    """A restart of the server must not end a watch."""
    transport.streams += [ConnectionFailed("refused"), ConnectionFailed("refused")]
    transport.add_stream(frame("ADDED", item("a", 3)), bookmark(5, end=True))
    async with client.watch(ConfigMap) as events, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(take(events, 1))
        await clock.advance(10)
        assert first.done()
        assert await first == ["Added a 3"]
    assert len(transport.asked) == 3


async def test_a_rejection_is_raised_to_the_caller(client: Client, transport: ScriptedTransport) -> None:
    """A tool that waits forever for something that will not change hangs."""
    transport.streams.append(failure(403, "Forbidden"))
    transport.answers.append(failure(403, "Forbidden"))
    async with client.watch(ConfigMap) as events:
        with pytest.raises(Forbidden):
            await anext(events)


async def test_watch_can_begin_at_a_version(client: Client, transport: ScriptedTransport) -> None:
    """A caller that has a list need not get it again."""
    transport.add_stream(frame("MODIFIED", item("a", 9)))
    async with client.watch(ConfigMap, since="8") as events:
        assert await events.initial() == []
        assert await take(events, 1) == ["Modified a 9"]
    assert "resourceVersion=8" in transport.lines[0]


async def test_version_that_is_too_old_is_an_error(client: Client, transport: ScriptedTransport) -> None:
    """Later events are unknown, so the caller must list."""
    transport.streams.append(failure(410, "Expired"))
    async with client.watch(ConfigMap, since="8") as events:
        with pytest.raises(Expired, match="version 8 is too old"):
            await anext(events)


async def test_initial_returns_the_whole_state_and_leaves_the_changes(
    client: Client, transport: ScriptedTransport
) -> None:
    """An empty state is a result too, which no event could report."""
    transport.add_stream(
        frame("ADDED", item("a", 3)),
        frame("ADDED", item("b", 3)),
        bookmark(5, end=True),
        frame("DELETED", item("a", 6)),
    )
    stream = transport.streams[0]
    async with client.watch(ConfigMap) as events:
        assert [obj.name for obj in await events.initial()] == ["b"]
        stream.feed(b'{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"7"}}}\n')  # type: ignore[union-attr] # a stream
        assert await take(events, 1) == ["Added c 7"]


async def test_objects_of_another_kind_are_left_out(
    client: Client, transport: ScriptedTransport, caplog: pytest.LogCaptureFixture
) -> None:
    """A table, or an object changed by a proxy, must not stop a watch."""
    transport.add_stream(
        bookmark(5, end=True),
        frame("ADDED", {"kind": "Table", "metadata": {"resourceVersion": "6"}}),
        frame("ADDED", item("a", 7)),
        frame("MODIFIED", item("a", 8)),
    )
    async with client.watch(ConfigMap) as events:
        assert await take(events, 2) == ["Added a 7", "Modified a 8"]
    assert "another kind" in caplog.text


async def test_object_that_does_not_fit_its_class_raises_and_the_watch_continues(
    client: Client, transport: ScriptedTransport
) -> None:
    """One broken object must not hide the others."""
    broken = {**item("broken", 6), "data": {"k": 5}}
    transport.add_stream(
        frame("ADDED", item("a", 3)), bookmark(5, end=True), frame("ADDED", broken), frame("ADDED", item("c", 7))
    )
    async with client.watch(ConfigMap) as events:
        assert await take(events, 1) == ["Added a 3"]
        with pytest.raises(DecodeError, match="not a ConfigMap"):
            await anext(events)
        assert await take(events, 1) == ["Added c 7"]


async def test_kinds_without_a_class_are_watched_as_well(client: Client, transport: ScriptedTransport) -> None:
    """The same events, with plain content."""
    transport.add_stream(frame("ADDED", item("a", 3)), bookmark(5, end=True), frame("MODIFIED", item("a", 6)))
    async with client.watch(GroupVersionKind("", "v1", "ConfigMap")) as events:
        first, second = await anext(events), await anext(events)
    assert isinstance(first, Added)
    assert isinstance(second, Modified)
    assert isinstance(second.object, Unstructured)


async def test_cancelled_watch_leaves_no_connection(client: Client, transport: ScriptedTransport) -> None:
    """Cancellation is the only stop signal."""
    transport.add_stream(bookmark(5, end=True))

    async def follow() -> None:
        async with client.watch(ConfigMap) as events:
            await anext(events)

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(follow())
        while not transport.open_streams:
            await client._session.clock.settle()  # type: ignore[attr-defined] # the fake clock of these tests
        task.cancel()
    assert transport.open_streams == 0
