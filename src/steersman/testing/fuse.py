"""`Fuse`: stands between an operator and its server, and blows at a chosen write. After that nothing passes any more.

Nothing that was sent is answered either: as when the process, its machine or its network is gone at that moment.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Literal

from steersman.protocol.http import App, Exchange, Peer, Request, Response, Stream, Upgraded

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Crash:
    """When to end an operator: right before or right after the server has carried out a write, counted from 1."""

    write: int
    moment: Literal["before", "after"] = "after"

    def __post_init__(self) -> None:
        if self.write < 1:
            raise ValueError(f"writes are counted from 1, got {self.write}")


class Fuse:
    """An app around an app. ``writes`` is what the operator wrote, in order, as ``PATCH /api/…``."""

    def __init__(self, app: App, crash: Crash | None = None) -> None:
        self._app = app
        self._crash = crash
        self._blown = asyncio.Event()
        self.writes: list[str] = []
        #: Whether nothing passes any more. True from the very step in which the write comes.
        self.is_cut = False

    def __repr__(self) -> str:
        return f"<Fuse {'cut' if self.is_cut else 'whole'} writes={len(self.writes)} crash={self._crash}>"

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
            self.writes.append(f"{request.method} {request.target.partition('?')[0]}")
            if self._crash is not None and len(self.writes) == self._crash.write:
                return self._blow(self._crash, app, request, exchange)
        return app.handle(request, exchange)

    def _blow(self, crash: Crash, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        self.is_cut = True
        work = None
        if crash.moment == "after":
            work = app.handle(request, _Unheard(exchange.peer))
        if work is None:
            self._blown.set()
            return None
        return self._carry_out(work)

    async def _carry_out(self, work: Awaitable[None]) -> None:
        try:
            await work
        finally:
            self._blown.set()


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
