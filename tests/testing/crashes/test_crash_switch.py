"""The switch between an operator and its server."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress

import pytest

from steersman.concurrency import background
from steersman.protocol.http import Exchange, Peer, Request, Response, Stream, Upgraded
from steersman.testing.crashes.crash_switch import Crash, CrashAtEachWrite, CrashSwitch, Moment


class _Server:
    """Answers every request, and records it."""

    def __init__(self) -> None:
        self.came: list[str] = []

    def handle(self, request: Request, exchange: Exchange) -> None:
        self.came.append(f"{request.method} {request.target}")
        exchange.respond(Response(200))


class _Caller:
    """Stores the answer."""

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


def _ask(switch: CrashSwitch, method: str, target: str) -> int | None:
    caller = _Caller()
    switch.handle(Request(method, target), caller)
    return None if caller.answer is None else caller.answer.status


async def test_reads_are_not_counted() -> None:
    """Only a write can be left half done."""
    switch = CrashSwitch(_Server(), Crash(1))
    assert _ask(switch, "GET", "/api") == 200
    assert switch.writes == []


async def test_a_write_is_carried_out_but_not_answered_in_a_crash_after_it() -> None:
    """The operator cannot know whether the server did it."""
    server = _Server()
    switch = CrashSwitch(server, Crash(2, "after"))
    assert _ask(switch, "POST", "/pods") == 200
    assert _ask(switch, "PATCH", "/pods/a?force=true") is None
    assert server.came == ["POST /pods", "PATCH /pods/a?force=true"]
    assert switch.writes == ["POST /pods", "PATCH /pods/a"]
    assert switch.is_cut


async def test_the_server_never_sees_the_write_of_a_crash_before_it() -> None:
    """The other state that a crash can leave behind."""
    server = _Server()
    switch = CrashSwitch(server, Crash(1, "before"))
    assert _ask(switch, "POST", "/pods") is None
    assert server.came == []
    assert switch.writes == ["POST /pods"]


async def test_nothing_passes_a_switch_after_its_crash() -> None:
    """A crashed operator neither writes nor reads; its writes elsewhere cannot continue either."""
    server = _Server()
    switch = CrashSwitch(server, Crash(1))
    _ask(switch, "POST", "/pods")
    await switch.wait_for_crash()
    assert _ask(switch, "POST", "/secrets") is None
    assert _ask(switch, "GET", "/pods") is None
    assert server.came == ["POST /pods"]


def test_writes_are_counted_from_one() -> None:
    """A crash at write 0 would never happen."""
    with pytest.raises(ValueError, match="counted from 1"):
        Crash(0)


async def _written(server: _Server) -> str:
    server.came.append("insert")
    return "done"


async def test_a_write_to_another_system_counts_as_any_other() -> None:
    """A write to a database is left half done as easily as one to the API server."""
    server = _Server()
    switch = CrashSwitch(server, Crash(3))
    assert await switch.carry_out("insert", lambda: _written(server)) == "done"
    assert _ask(switch, "POST", "/pods") == 200
    assert switch.writes == ["insert", "POST /pods"]
    assert not switch.is_cut


@pytest.mark.parametrize(("moment", "came"), [("after", ["insert"]), ("before", [])])
async def test_a_crash_can_happen_at_a_write_to_another_system(moment: Moment, came: list[str]) -> None:
    """It is carried out or not; in either case the operator gets no result, and nothing passes any more."""
    server = _Server()
    switch = CrashSwitch(server, Crash(1, moment))
    async with background(_ignored(switch.carry_out("insert", lambda: _written(server))), name="operator") as task:
        await switch.wait_for_crash()
        assert not task.done()
    assert server.came == came
    assert _ask(switch, "GET", "/pods") is None


async def test_a_crashed_operator_gets_no_result_of_a_write_to_another_system() -> None:
    """One that was running at the crash is carried out, a later one is not; neither returns."""
    server = _Server()
    switch = CrashSwitch(server, Crash(2))
    gate = asyncio.Event()

    async def slowly() -> str:
        await gate.wait()
        return await _written(server)

    async with background(_ignored(switch.carry_out("insert", slowly)), name="first") as first:
        await asyncio.wait({first}, timeout=0)
        _ask(switch, "POST", "/pods")
        async with background(_ignored(switch.carry_out("drop", lambda: _written(server))), name="second") as second:
            gate.set()
            await asyncio.wait({first, second}, timeout=0.001)
            assert not first.done()
            assert not second.done()
    assert server.came == ["POST /pods", "insert"]
    assert switch.writes == ["insert", "POST /pods"]


async def test_a_crashed_operator_ends_even_if_its_work_swallows_the_cancellation() -> None:
    """Clients of databases do so with ``asyncio.wait_for`` of Python 3.11; a second cancellation does not come."""
    server = _Server()
    switch = CrashSwitch(server, Crash(2))

    async def deaf() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return await _written(server)

    async with background(_ignored(switch.carry_out("insert", deaf)), name="operator") as task:
        await asyncio.wait({task}, timeout=0)
        _ask(switch, "POST", "/pods")
        task.cancel()
        await asyncio.wait({task}, timeout=1)
        assert task.cancelled()


async def _ignored(work: Coroutine[object, object, str]) -> None:
    await work


def test_each_write_is_the_last_of_one_instance() -> None:
    """An instance that only repeats a write at which another crashed continues; otherwise none would get further."""
    crash_point = CrashAtEachWrite()
    assert crash_point.matches(["a"])
    assert not crash_point.matches(["a"])
    assert crash_point.matches(["a", "b"])
    assert not crash_point.matches(["a", "b", "a"])
