"""`Fuse`: stands between an operator and its server, and blows at a chosen write. After that nothing passes any more.

Nothing that was sent is answered either: as when the process, its machine or its network is gone at that moment.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Never, Protocol, TypeAlias, TypeVar

from steersman.protocol.http import App, Exchange, Peer, Request, Response, Stream, Upgraded

T = TypeVar("T")
Moment: TypeAlias = Literal["before", "after"]
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Doom(Protocol):
    """Says at which of its writes an operator ends."""

    @property
    def moment(self) -> Moment:
        """Whether it ends right before the write is carried out, or right after."""

    def comes(self, writes: Sequence[str]) -> bool:
        """Tell whether the last of these writes, all that it made, is the one."""


@dataclass(frozen=True, slots=True)
class Crash:
    """When to end an operator: right before or right after the server has carried out a write, counted from 1."""

    write: int
    moment: Moment = "after"

    def __post_init__(self) -> None:
        if self.write < 1:
            raise ValueError(f"writes are counted from 1, got {self.write}")

    def comes(self, writes: Sequence[str]) -> bool:
        """Tell whether that many were made."""
        return len(writes) == self.write


class EachOnce:
    """When to end operators, one after the other: each right after the first write at which none ended before.

    So every write that they make is the last of one of them, and the one that has none left lives on.
    """

    moment: Moment = "after"

    def __init__(self) -> None:
        #: Writes for which somebody has died.
        self.ends: set[str] = set()

    def __repr__(self) -> str:
        return f"<EachOnce ends={len(self.ends)}>"

    def comes(self, writes: Sequence[str]) -> bool:
        """Tell whether the last write is one for which nobody has died yet; from now on somebody has."""
        if writes[-1] in self.ends:
            return False
        self.ends.add(writes[-1])
        return True


class Fuse:
    """An app around an app. ``writes`` is what the operator wrote, in order, as ``PATCH /api/…``."""

    def __init__(self, app: App, doom: Doom | None = None) -> None:
        self._app = app
        self._doom = doom
        self._blown = asyncio.Event()
        self.writes: list[str] = []
        #: Whether nothing passes any more. True from the very step in which the write comes.
        self.is_cut = False

    def __repr__(self) -> str:
        return f"<Fuse {'cut' if self.is_cut else 'whole'} writes={len(self.writes)} doom={self._doom}>"

    @property
    def is_blown(self) -> bool:
        """Whether the write came, and was carried out if it is to be."""
        return self._blown.is_set()

    async def wait_blown(self) -> None:
        """Wait until the write came, and was carried out if it is to be."""
        await self._blown.wait()

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass on, unless it blows now or has blown."""
        return self.pass_on(self._app, request, exchange)

    def around(self, app: App) -> App:
        """Stand before another app too, such as a provider that the operator calls: its writes count as well."""
        return _Branch(self, app)

    def pass_on(self, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a request on to an app, unless it blows now or has blown."""
        if self.is_cut:
            return None
        if request.method not in _READS:
            moment = self._note(f"{request.method} {request.target.partition('?')[0]}")
            if moment is not None:
                return self._blow(moment, app, request, exchange)
        return app.handle(request, exchange)

    async def carry_out(self, write: str, work: Callable[[], Awaitable[T]]) -> T:
        """Carry out a write to something that is no app, such as a command to a database: it counts as any other.

        Whoever wrote it hears of it only while the fuse is whole; else it waits until it is cancelled.
        """
        if self.is_cut:
            return await _silence()
        moment = self._note(write)
        if moment is None:
            return await self._heard(await work())
        try:
            if moment == "after":
                await work()
        finally:
            self._blown.set()
        return await _silence()

    async def _heard(self, result: T) -> T:
        """Give an answer, unless whoever waits for it is gone by now."""
        return await _silence() if self.is_cut else result

    def _note(self, write: str) -> Moment | None:
        """Count a write; if it is the one, nothing passes from now on, and this tells when it ends."""
        self.writes.append(write)
        if self._doom is None or not self._doom.comes(self.writes):
            return None
        self.is_cut = True
        return self._doom.moment

    def _blow(self, moment: Moment, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        work = None
        if moment == "after":
            work = app.handle(request, _Unheard(exchange.peer))
        if work is None:
            self._blown.set()
            return None
        return self._finish(work)

    async def _finish(self, work: Awaitable[None]) -> None:
        try:
            await work
        finally:
            self._blown.set()


async def _silence() -> Never:
    """Wait for an answer that does not come, until cancelled."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        # What was carried out has lost it: `asyncio.wait_for` may, before Python 3.12. It does not come again.
        raise asyncio.CancelledError
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


@dataclass(frozen=True, slots=True)
class _Branch:
    """One more app behind a fuse."""

    fuse: Fuse
    app: App

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass on what the fuse lets pass."""
        return self.fuse.pass_on(self.app, request, exchange)


class _Unheard:
    """An exchange whose answer is never delivered; whoever waits for it waits on."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def respond(self, response: Response) -> None:
        """Lose the answer."""

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Refuse: no write is answered by a stream."""
        raise TypeError(f"a write was answered by a stream ({status}, {headers})")

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Refuse: no write is answered by an upgrade."""
        raise TypeError(f"a write was answered by an upgrade ({headers})")

    def reset(self) -> None:
        """Do nothing: nobody is there any more."""
