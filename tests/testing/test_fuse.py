"""The fuse between an operator and its server."""

import pytest

from steersman.protocol.http import Exchange, Peer, Request, Response, Stream, Upgraded
from steersman.testing.fuse import Crash, Fuse


class _Server:
    """Answers everything, and keeps what came."""

    def __init__(self) -> None:
        self.came: list[str] = []

    def handle(self, request: Request, exchange: Exchange) -> None:
        self.came.append(f"{request.method} {request.target}")
        exchange.respond(Response(200))


class _Caller:
    """Keeps the answer."""

    peer = Peer("test")

    def __init__(self) -> None:
        self.answer: Response | None = None

    def respond(self, response: Response) -> None:
        self.answer = response

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        raise NotImplementedError(status, headers)

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        raise NotImplementedError(headers)

    def reset(self) -> None:
        raise NotImplementedError


def _ask(fuse: Fuse, method: str, target: str) -> int | None:
    caller = _Caller()
    fuse.handle(Request(method, target), caller)
    return None if caller.answer is None else caller.answer.status


async def test_reads_are_not_counted() -> None:
    """Only what a write leaves behind can be left half done."""
    fuse = Fuse(_Server(), Crash(1))
    assert _ask(fuse, "GET", "/api") == 200
    assert fuse.writes == []


async def test_a_write_is_carried_out_but_not_answered_in_a_crash_after_it() -> None:
    """The operator cannot know whether the server did it."""
    server = _Server()
    fuse = Fuse(server, Crash(2, "after"))
    assert _ask(fuse, "POST", "/pods") == 200
    assert _ask(fuse, "PATCH", "/pods/a?force=true") is None
    assert server.came == ["POST /pods", "PATCH /pods/a?force=true"]
    assert fuse.writes == ["POST /pods", "PATCH /pods/a"]
    assert fuse.is_cut


async def test_the_server_never_sees_the_write_of_a_crash_before_it() -> None:
    """The other half of what a crash can leave behind."""
    server = _Server()
    fuse = Fuse(server, Crash(1, "before"))
    assert _ask(fuse, "POST", "/pods") is None
    assert server.came == []
    assert fuse.writes == ["POST /pods"]


async def test_nothing_passes_a_blown_fuse() -> None:
    """The dead neither write nor read; what they had begun elsewhere cannot go on either."""
    server = _Server()
    fuse = Fuse(server, Crash(1))
    _ask(fuse, "POST", "/pods")
    await fuse.wait_blown()
    assert _ask(fuse, "POST", "/secrets") is None
    assert _ask(fuse, "GET", "/pods") is None
    assert server.came == ["POST /pods"]


def test_writes_are_counted_from_one() -> None:
    """A crash at no write would never come."""
    with pytest.raises(ValueError, match="counted from 1"):
        Crash(0)
