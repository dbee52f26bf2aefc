"""A watch over a network that breaks all the time: in the end the caller's state is that of the server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random  # noqa: TID251 - the dice of the test itself
from typing import Any

import pytest

from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.client.watching import Watcher
from steersman.concurrency import background
from steersman.errors import ConnectionFailed, ConnectionLost
from steersman.kinds.core_v1 import Secret
from steersman.objects.meta import meta
from steersman.protocol.http import Request, Response
from steersman.protocol.watch_frames import Applied
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport
from steersman.transport.stream import ResponseStream

EXPIRED = b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,"reason":"Expired"}}\n'
INTERNAL = b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":500,"reason":"InternalError"}}\n'
BUSY = b'{"kind":"Status","status":"Failure","code":429,"reason":"TooManyRequests"}'
REFUSED = b'{"kind":"Status","status":"Failure","code":422,"reason":"Invalid"}'


class BreakingStream:
    """Forwards a stream until it breaks at random: cleanly, inside an event, or with an error event."""

    def __init__(self, stream: ResponseStream, dice: Random) -> None:
        self._stream = stream
        self._dice = dice
        self._ended: Exception | None = None
        self.status = stream.status
        self.headers = stream.headers
        self.is_empty = True

    async def read(self) -> bytes:
        """Return the rest at once."""
        return await self._stream.read()

    def interrupt(self) -> None:
        """Interrupt a read that waits."""
        self._stream.interrupt()

    async def __anext__(self) -> bytes:
        """Return the next bytes, or a part of them."""
        if self._ended is not None:
            raise self._ended
        chunk = await self._stream.__anext__()
        match self._dice.randrange(10):
            case 0:
                self._ended = ConnectionLost("reset")
                return chunk[: self._dice.randrange(len(chunk))]
            case 1:
                self._ended = StopAsyncIteration()
                return chunk[: self._dice.randrange(len(chunk))]
            case 2:
                self._ended = StopAsyncIteration()
            case 3:
                return chunk + self._dice.choice([EXPIRED, INTERNAL])
        return chunk


class FaultyTransport:
    """Breaks requests and streams while faults are enabled."""

    def __init__(self, inner: InMemoryTransport, dice: Random) -> None:
        self._inner = inner
        self._dice = dice
        self.is_faulty = True
        self.broken = 0

    async def request(self, request: Request, *, timeout: float | None = None) -> Response:  # noqa: ASYNC109 - the protocol's
        """Fail one request in four."""
        if self.is_faulty and self._dice.randrange(4) == 0:
            self.broken += 1
            raise self._dice.choice([ConnectionFailed("refused"), ConnectionLost("reset")])
        return await self._inner.request(request, timeout=timeout)

    @asynccontextmanager
    async def stream(self, request: Request, *, idle: float | None = 70.0) -> AsyncIterator[Any]:
        """Fail one stream in three, and break the others."""
        fault = self._dice.randrange(9) if self.is_faulty else 99
        if fault == 0:
            self.broken += 1
            raise ConnectionFailed("refused")
        if fault == 1 or (fault == 2 and "sendInitialEvents" in request.target):
            self.broken += 1
            refused = ResponseStream(429, [("retry-after", "1")]) if fault == 1 else ResponseStream(422, [])
            refused.feed(BUSY if fault == 1 else REFUSED)
            refused.finish()
            yield refused
            return
        async with self._inner.stream(request, idle=idle) as stream:
            yield BreakingStream(stream, self._dice) if self.is_faulty else stream

    def upgrade(self, request: Request, *, protocol: str) -> Any:
        """Reject the call; no test uses it."""
        raise NotImplementedError

    async def ping(self) -> None:
        """Answer a ping."""

    async def close(self) -> None:
        """Close the wrapped transport."""
        await self._inner.close()


async def follow(events: Watcher[Secret], seen: dict[str, tuple[str, str]]) -> None:
    """Track the objects by their events: uid and version by name."""
    async for event in events:
        name, identity = event.object.name, (event.object.uid, event.object.resource_version)
        if isinstance(event, Applied):
            known = seen.get(name)
            assert known is None or known[0] == identity[0], "another object of the same name without a deletion"
            assert known is None or int(known[1]) <= int(identity[1]), "a version went back"
            seen[name] = identity
        else:
            assert seen.pop(name)[0] == identity[0], "the deletion of something that was never shown"


async def change_something(client: Client, dice: Random) -> None:
    """Create, change or delete one of a few objects."""
    name = dice.choice("abcdef")
    current = await client.try_get(Secret, name)
    if current is None:
        await client.create(Secret(meta(name)))
    elif dice.randrange(3):
        await client.patch(current, {"metadata": {"labels": {"n": str(dice.randrange(1000))}}})
    else:
        await client.delete(Ref(Secret, name))


@pytest.mark.parametrize("seed", range(25))
async def test_after_any_faults_the_caller_has_the_true_state(seed: int) -> None:
    """Resets, closes, cut events, 410, 429, 500, failed streams and lists: nothing is lost, nothing is invented."""
    dice = Random(seed)  # noqa: S311 - not a secret
    clock = FakeClock()
    inner = InMemoryTransport(ApiServer(clock=clock, randomness=Randomness(seed)), clock=clock)
    faulty = FaultyTransport(inner, dice)
    writer = Client(inner, clock=clock)
    seen: dict[str, tuple[str, str]] = {}
    events = Client(faulty, clock=clock, randomness=Randomness(seed)).watch(Secret)
    async with events, background(follow(events, seen), name="follow"):
        for _ in range(80):
            await change_something(writer, dice)
            await clock.advance(dice.choice([0.0, 0.1, 2.0, 30.0]))
        faulty.is_faulty = False
        await clock.advance(300)
        truth = {obj.name: (obj.uid, obj.resource_version) async for obj in writer.list(Secret)}
        assert seen == truth
    assert faulty.broken > 0
    await inner.close()
