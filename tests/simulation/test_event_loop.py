"""An event loop without I/O: time jumps, and what cannot be repeated is rejected by name."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from steersman.simulation.event_loop import InstanceClock, NotDeterministic, SimulatedClock, SimulationLoop, Stuck

T = TypeVar("T")


def _run(work: Coroutine[Any, Any, T], clock: SimulatedClock | None = None) -> T:
    loop = SimulationLoop(clock or SimulatedClock())
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def test_time_passes_when_nothing_else_can() -> None:
    """An hour of waiting takes no time, and asyncio's own timers follow the same clock."""
    clock = SimulatedClock()

    async def wait() -> list[str]:
        woken: list[str] = []

        async def sleep(seconds: float, name: str) -> None:
            await asyncio.sleep(seconds)  # noqa: TID251 - an operator may do that
            woken.append(name)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(sleep(3600, "late"))
            tasks.create_task(sleep(60, "early"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.get_running_loop().create_future()
        return woken

    assert _run(wait(), clock) == ["early", "late"]
    assert clock.monotonic() == 3610


def test_a_stall_lets_time_pass_before_timers_run() -> None:
    """A process that stood still finds everything overdue at once."""
    clock = SimulatedClock()

    async def stall() -> float:
        task = asyncio.get_running_loop().create_task(clock.sleep(5))
        await clock.settle()
        clock.stall(60)
        await task
        return clock.monotonic()

    assert _run(stall(), clock) == 60


def test_a_wait_that_never_ends_is_detected() -> None:
    """A real loop would hang."""

    async def wait() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Stuck, match="never happens"):
        _run(wait())


def test_a_loop_that_polls_without_waiting_is_detected() -> None:
    """No time would ever pass, and nothing would end it but Ctrl-C."""

    async def poll() -> None:
        while True:  # noqa: ASYNC110 - an operator may do that
            await asyncio.sleep(0)  # noqa: TID251 - same

    with pytest.raises(Stuck, match="a loop polls without waiting"):
        _run(poll())


def test_threads_and_sockets_are_rejected_by_name() -> None:
    """Their order and their answers are not the operator's, so no seed repeats them."""

    async def thread() -> None:
        await asyncio.to_thread(len, "")

    async def socket() -> None:
        await asyncio.open_connection("127.0.0.1", 1)

    with pytest.raises(NotDeterministic, match="plain `def` reconciler"):
        _run(thread())
    with pytest.raises(NotDeterministic, match="socket"):
        _run(socket())


def test_the_clock_of_a_dead_instance_waits_for_nothing() -> None:
    """The grace period of a process that has ended must not delay the next one."""
    inner = SimulatedClock()
    clock = InstanceClock(inner)

    async def die() -> float:
        clock.die()
        await clock.sleep(3600)
        return inner.monotonic()

    assert _run(die(), inner) == 0
