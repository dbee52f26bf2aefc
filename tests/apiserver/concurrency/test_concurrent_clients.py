import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import pytest

from steersman.apiserver.local import LocalOptions, local_server
from steersman.apiserver.server import ApiServer
from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.protocol.http import Request
from steersman.testing.fake_clock import FakeClock
from steersman.transport.auth.secret import Secret
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig, Token
from steersman.transport.http.tls import TlsConfig
from steersman.transport.http.transport import HttpTransport
from steersman.transport.in_memory import InMemoryTransport
from tests.apiserver.concurrency.clients import PATH, RandomClient, Ticks, Watcher
from tests.apiserver.concurrency.history import HistoryChecker, Model, Operation

CLIENTS = 32
Connect = Callable[[], Transport]


@asynccontextmanager
async def _in_memory() -> AsyncIterator[Connect]:
    clock = RealClock()
    server = ApiServer(clock=clock)
    yield lambda: InMemoryTransport(server, clock=clock)


@asynccontextmanager
async def _over_https() -> AsyncIterator[Connect]:
    # Only the clients write here.
    async with local_server(LocalOptions(controllers=False)) as server:
        config = ClusterConfig(
            server=server.access.url,
            tls=TlsConfig(ca=server.access.authority.decode()),
            authentication=Token(Secret(server.access.token)),
        )
        yield lambda: HttpTransport(config, clock=RealClock())


async def _version(transport: Transport) -> int:
    answer = await transport.request(Request("GET", PATH))
    return int(json.loads(answer.body)["metadata"]["resourceVersion"])


@pytest.mark.parametrize(("connected", "each"), [(_in_memory, 60), (_over_https, 25)], ids=["in memory", "https"])
async def test_reads_are_linearizable_and_watches_have_no_gaps(
    connected: Callable[[], AbstractAsyncContextManager[Connect]], each: int
) -> None:
    """Operators rely on these two promises of Kubernetes; it makes no other about concurrency."""
    ticks, operations = Ticks(), list[Operation]()
    async with connected() as connect, AsyncExitStack() as stack:
        transports = [connect() for _ in range(CLIENTS + 8)]
        for transport in transports:
            stack.push_async_callback(transport.close)
        first = await _version(transports[0])
        last: list[int] = []

        def is_enough(version: int) -> bool:
            return bool(last) and version >= last[0]

        whole = Watcher(transports[-1], first)
        others = [
            Watcher(transport, first, breaks_after=number % 4 * 7)
            for number, transport in enumerate(transports[CLIENTS:-1])
        ]
        async with asyncio.TaskGroup() as watching:
            for watcher in (whole, *others):
                watching.create_task(watcher.run(is_enough), name="watcher")
            async with asyncio.TaskGroup() as working:
                for number, transport in enumerate(transports[:CLIENTS]):
                    client = RandomClient(number, transport, ticks, operations)
                    working.create_task(client.run(each), name=f"client {number}")
            # One more write lets every watcher, the idle ones too, notice the end.
            closing = RandomClient(CLIENTS, transports[0], ticks, operations)
            last.append(await closing.create_last())
    model = Model(first, whole.changes)
    HistoryChecker(model, operations).check()
    for watcher in others:
        assert watcher.changes == whole.changes, (
            "each watcher sees every event once and in order, however often it breaks off"
        )
    assert len(operations) >= CLIENTS * each


async def test_a_late_watcher_sees_what_it_missed_from_any_version() -> None:
    """A client resumes where it stopped: from every version it may have stopped at, it reaches the same end."""
    clock = RealClock()
    server = ApiServer(clock=clock)
    transport = InMemoryTransport(server, clock=clock)
    operations: list[Operation] = []
    first = await _version(transport)
    await RandomClient(1, transport, Ticks(), operations).run(80)
    last = await _version(transport)
    whole = Watcher(transport, first)
    await whole.run(lambda version: version >= last)
    for index, change in enumerate(whole.changes[:-1]):
        late = Watcher(transport, change.version)
        await late.run(lambda version: version >= last)
        assert late.changes == whole.changes[index + 1 :]


async def test_a_watch_can_resume_from_any_bookmark() -> None:
    """A bookmark promises that no earlier event is missing, even if nothing matched the watcher's selector."""
    clock = FakeClock()
    server = ApiServer(clock=clock)
    transport = InMemoryTransport(server, clock=clock)
    first = await _version(transport)
    quiet = Watcher(transport, first, query="&allowWatchBookmarks=true&labelSelector=never%3Dthere")
    busy = Watcher(transport, first, query="&allowWatchBookmarks=true")
    async with (
        background(quiet.run(lambda _: False), name="quiet"),
        background(busy.run(lambda _: False), name="busy"),
    ):
        await clock.settle()
        await RandomClient(1, transport, Ticks(), []).run(40)
        await clock.advance(61)
        await RandomClient(2, transport, Ticks(), []).run(40)
        await clock.advance(60)
    last = await _version(transport)
    assert not quiet.changes
    assert [version for version, _ in quiet.bookmarks] == [version for version, _ in busy.bookmarks]
    assert len(busy.bookmarks) == 2
    for version, seen in busy.bookmarks:
        assert all(change.version <= version for change in busy.changes[:seen])
        resumed = Watcher(transport, version)
        if version < last:
            await resumed.run(lambda reached: reached >= busy.changes[-1].version)
        assert resumed.changes == busy.changes[seen:]
