"""A write is sent only while its fence allows it, in every attempt and however long it waited."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from steersman.concurrency import background
from steersman.errors import LeadershipLost
from steersman.protocol.http import Request
from steersman.testing.fake_clock import FakeClock
from steersman.transport.config import TokenFromFile
from steersman.transport.fenced import FencedTransport
from steersman.transport.http.transport import HttpTransport
from steersman.transport.limits import Limits
from tests.support.peer import OK, PeerConnection, answer, outcome, scripted, until
from tests.transport.conftest import Connect

WRITE = Request("POST", "/x", {}, b"{}")
READ = Request("GET", "/x")


class Fence:
    """A fence that a test closes."""

    def __init__(self) -> None:
        self.is_closed = False

    def check(self) -> None:
        """Raise if the fence is closed."""
        if self.is_closed:
            raise LeadershipLost("closed")


class Requests:
    """A server that counts requests and answers each when the test allows it."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.seen = 0
        self.let_go = asyncio.Event()

    async def script(self, connection: PeerConnection) -> None:
        """Answer with the next bytes."""
        while await connection.request():
            self.seen += 1
            await self.let_go.wait()
            await connection.send(self.answers.pop(0) if self.answers else OK)


@pytest.mark.parametrize(
    "first",
    [answer(429, b"", "retry-after: 5"), answer(503, b"", "retry-after: 5")],
    ids=["throttled", "unavailable"],
)
async def test_a_write_that_waited_to_be_retried_is_checked_again(connected: Connect, first: bytes) -> None:
    """A leader that is paused while a write waits for ``Retry-After`` may have been replaced when it continues."""
    clock, fence, peer = FakeClock(), Fence(), Requests(first)
    peer.let_go.set()
    results: list[object] = []
    async with scripted(peer.script) as server, connected(server.url, clock=clock) as http:

        async def write() -> None:
            results.append(await outcome(FencedTransport(http, fence).request(WRITE)))

        async with background(write(), name="write"):
            await until(lambda: peer.seen == 1 and clock.next_timer() == 5.0)
            fence.is_closed = True
            await clock.advance(5.0)
            await until(lambda: results)
    assert isinstance(results[0], LeadershipLost)
    assert peer.seen == 1


async def test_a_write_that_waited_for_a_connection_is_checked_when_it_has_one(connected: Connect) -> None:
    """Waiting for a slot in the pool takes as long as other requests do; the connection stays usable."""
    fence, peer = Fence(), Requests()
    results: list[object] = []
    async with scripted(peer.script) as server, connected(server.url, limits=Limits(connections=1)) as http:
        fenced = FencedTransport(http, fence)

        async def send(request: Request) -> None:
            results.append(await outcome(fenced.request(request)))

        async with background(send(READ), name="first"):
            await until(lambda: peer.seen == 1)
            async with background(send(WRITE), name="second"):
                await until(lambda: "waiting=1" in repr(http))
                fence.is_closed = True
                peer.let_go.set()
                await until(lambda: len(results) == 2)
        assert [type(result).__name__ for result in results] == ["Response", "LeadershipLost"]
        assert (await fenced.request(READ)).status == 200
        assert server.connections == 1
    assert peer.seen == 2


async def test_a_write_is_checked_again_after_new_credentials(connected: Connect, tmp_path: Path) -> None:
    """The second attempt after a 401 is an attempt like any other."""
    fence, token = Fence(), tmp_path / "token"
    token.write_text("old")
    seen = []

    async def script(connection: PeerConnection) -> None:
        while request := await connection.request():
            seen.append(request)
            token.write_text("new")
            fence.is_closed = True
            await connection.send(answer(401))

    async with scripted(script) as server, connected(server.url, authentication=TokenFromFile(token)) as http:
        with pytest.raises(LeadershipLost):
            await FencedTransport(http, fence).request(WRITE)
    assert len(seen) == 1


def opened(http: HttpTransport, fence: Fence, how: str) -> AbstractAsyncContextManager[object]:
    """Open a stream or an upgraded connection behind a fence."""
    fenced = FencedTransport(http, fence)
    if how == "stream":
        return fenced.stream(WRITE)
    return fenced.upgrade(READ, protocol="websocket")


@pytest.mark.parametrize("how", ["stream", "upgrade"])
async def test_streams_that_write_and_upgrades_are_fenced(connected: Connect, how: str) -> None:
    """A command in a container is a GET request and can change anything."""
    fence, peer = Fence(), Requests()
    fence.is_closed = True
    peer.let_go.set()
    async with scripted(peer.script) as server, connected(server.url) as http:
        with pytest.raises(LeadershipLost):
            async with opened(http, fence, how):
                pass
    assert peer.seen == 0


async def test_reads_pass_a_closed_fence(connected: Connect) -> None:
    """A process that is not the leader keeps its caches warm."""
    fence, peer = Fence(), Requests()
    fence.is_closed = True
    peer.let_go.set()
    async with scripted(peer.script) as server, connected(server.url) as http:
        assert (await FencedTransport(http, fence).request(READ)).status == 200
