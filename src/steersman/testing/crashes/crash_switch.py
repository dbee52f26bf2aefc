"""`CrashSwitch`: an app between an operator and its server that cuts the connection at a chosen write.

After the crash no request passes, and no earlier request is answered, as if the process, its machine or its network
had failed at that moment.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Never, Protocol, TypeAlias, TypeVar

from steersman.protocol.http import App, Exchange, Peer, Request, Response, Stream, Upgraded

T = TypeVar("T")
Moment: TypeAlias = Literal["before", "after"]
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class CrashPoint(Protocol):
    """Decides at which of its writes an operator crashes."""

    @property
    def moment(self) -> Moment:
        """Whether the operator crashes right before the server carries out the write, or right after."""

    def matches(self, writes: Sequence[str]) -> bool:
        """Return whether the operator crashes at the last of its writes so far."""


@dataclass(frozen=True, slots=True)
class Crash:
    """Crash right before or right after the server has carried out a write; writes are counted from 1."""

    write: int
    moment: Moment = "after"

    def __post_init__(self) -> None:
        if self.write < 1:
            raise ValueError(f"writes are counted from 1, got {self.write}")

    def matches(self, writes: Sequence[str]) -> bool:
        """Return whether this is the chosen write."""
        return len(writes) == self.write


class CrashAtEachWrite:
    """Crash each instance right after the first write at which no earlier instance crashed.

    So every distinct write is the last one of some instance, and the instance that makes no new write stays alive.
    """

    moment: Moment = "after"

    def __init__(self) -> None:
        #: Writes at which an instance has crashed.
        self.ends: set[str] = set()

    def __repr__(self) -> str:
        return f"<CrashAtEachWrite ends={len(self.ends)}>"

    def matches(self, writes: Sequence[str]) -> bool:
        """Return whether no instance has crashed at the last write yet, and record that one has now."""
        if writes[-1] in self.ends:
            return False
        self.ends.add(writes[-1])
        return True


class CrashSwitch:
    """An app that wraps an app. ``writes`` lists the operator's writes in order, such as ``PATCH /api/…``."""

    def __init__(self, app: App, crash_point: CrashPoint | None = None) -> None:
        self._app = app
        self._crash_point = crash_point
        self._crashed = asyncio.Event()
        self.writes: list[str] = []
        #: Whether the connection is cut. True as soon as the chosen write arrives, before it is carried out.
        self.is_cut = False

    def __repr__(self) -> str:
        return f"<CrashSwitch {'cut' if self.is_cut else 'connected'} writes={len(self.writes)} at={self._crash_point}>"

    @property
    def is_crashed(self) -> bool:
        """Whether the operator has crashed: the chosen write arrived and, for ``after``, was carried out."""
        return self._crashed.is_set()

    async def wait_for_crash(self) -> None:
        """Wait until the operator has crashed."""
        await self._crashed.wait()

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a request on, unless the operator crashes at it or has crashed."""
        return self.pass_on(self._app, request, exchange)

    def around(self, app: App) -> App:
        """Wrap another app too, such as a provider that the operator calls: writes to it count as well."""
        return _Branch(self, app)

    def pass_on(self, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a request on to an app, unless the operator crashes at it or has crashed."""
        if self.is_cut:
            return None
        if request.method not in _READS:
            moment = self._note(f"{request.method} {request.target.partition('?')[0]}")
            if moment is not None:
                return self._crash(moment, app, request, exchange)
        return app.handle(request, exchange)

    async def carry_out(self, write: str, work: Callable[[], Awaitable[T]]) -> T:
        """Carry out a write to something that is not an app, such as a command to a database; it counts like a request.

        The result is returned only while the connection is not cut; otherwise the caller waits until it is cancelled.
        """
        if self.is_cut:
            return await _never_answer()
        moment = self._note(write)
        if moment is None:
            return await self._delivered(await work())
        try:
            if moment == "after":
                await work()
        finally:
            self._crashed.set()
        return await _never_answer()

    async def _delivered(self, result: T) -> T:
        """Return the result, unless the operator crashed meanwhile."""
        return await _never_answer() if self.is_cut else result

    def _note(self, write: str) -> Moment | None:
        """Count a write. At the chosen one cut the connection and return when to crash."""
        self.writes.append(write)
        if self._crash_point is None or not self._crash_point.matches(self.writes):
            return None
        self.is_cut = True
        return self._crash_point.moment

    def _crash(self, moment: Moment, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        work = None
        if moment == "after":
            work = app.handle(request, _DiscardedExchange(exchange.peer))
        if work is None:
            self._crashed.set()
            return None
        return self._finish(work)

    async def _finish(self, work: Awaitable[None]) -> None:
        try:
            await work
        finally:
            self._crashed.set()


async def _never_answer() -> Never:
    """Wait until cancelled: a crashed operator receives no response."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        # The work swallowed the cancellation, as `asyncio.wait_for` may before Python 3.12; it is not sent again.
        raise asyncio.CancelledError
    await asyncio.Event().wait()
    raise AssertionError("the event is never set")


@dataclass(frozen=True, slots=True)
class _Branch:
    """Another app behind the same switch."""

    switch: CrashSwitch
    app: App

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a request on through the switch."""
        return self.switch.pass_on(self.app, request, exchange)


class _DiscardedExchange:
    """An exchange whose response is discarded, so that the caller waits forever."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def respond(self, response: Response) -> None:
        """Discard the response."""

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Raise ``TypeError``: no write is answered by a stream."""
        raise TypeError(f"a write was answered by a stream ({status}, {headers})")

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Raise ``TypeError``: no write is answered by an upgrade."""
        raise TypeError(f"a write was answered by an upgrade ({headers})")

    def reset(self) -> None:
        """Do nothing: the caller has crashed."""
