import asyncio

import pytest

from steersman.clock import RealClock
from steersman.concurrency import background, cleanup, slow_start, unbroken, wait_ready


class BoomError(Exception):
    """The error of the work in these tests."""


async def forever() -> None:
    """Wait forever."""
    await asyncio.get_running_loop().create_future()


async def test_background_work_ends_with_its_block() -> None:
    """A task that outlives its parent cannot be stopped."""
    async with background(forever(), name="work") as task:
        assert not task.done()
    assert task.cancelled()


async def test_a_failure_in_the_background_ends_the_block() -> None:
    """A failed helper must not leave its owner waiting."""

    async def fail() -> None:
        raise BoomError

    with pytest.raises(BoomError):
        async with background(fail(), name="work"):
            await forever()


async def test_the_failure_of_the_block_is_not_wrapped() -> None:
    """`except NotFound` must see a NotFound."""
    with pytest.raises(BoomError):
        async with background(forever(), name="work"):
            raise BoomError


async def test_waiting_for_readiness_ends_when_the_work_fails() -> None:
    """Otherwise a caller would wait forever for a server that cannot bind its port."""

    async def fail() -> None:
        raise BoomError

    with pytest.raises(BoomError):
        async with background(fail(), name="work") as work:
            await wait_ready(forever(), work)


async def test_work_that_ends_before_it_is_ready_is_an_error() -> None:
    """Ended is not ready."""

    async def end() -> None:
        return

    with pytest.raises(RuntimeError, match="work ended before it was ready"):
        async with background(end(), name="work") as work:
            await wait_ready(forever(), work)


async def test_cleanup_finishes_despite_a_cancellation_and_then_raises_it() -> None:
    """A lease must be released on Ctrl-C, and Ctrl-C must still stop the program."""
    begun, finished = asyncio.Event(), asyncio.Event()

    async def release() -> None:
        begun.set()
        for _ in range(5):
            await RealClock().sleep(0)
        finished.set()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(cleanup(release(), clock=RealClock(), within=5))
        await begun.wait()
        task.cancel()
    assert finished.is_set()
    assert task.cancelled()


async def test_cleanup_stops_after_its_limit() -> None:
    """A server that does not answer must not keep the program from ending."""
    assert await cleanup(forever(), clock=RealClock(), within=0) is False


async def test_cleanup_raises_the_failure_of_its_work() -> None:
    """A failed cleanup is not a finished one."""

    async def fail() -> None:
        raise BoomError

    with pytest.raises(BoomError):
        await cleanup(fail(), clock=RealClock(), within=5)


async def test_slow_start_doubles_its_batches() -> None:
    """A hundred pods must not be requested at once before the first one shows that it works."""
    running, most = 0, []

    async def work() -> None:
        nonlocal running
        running += 1
        most.append(running)
        await asyncio.sleep(0)  # noqa: TID251 - a step of the event loop, not a wait
        running -= 1

    await slow_start(8, work)
    assert most == [1, 1, 2, 1, 2, 3, 4, 1]


async def test_slow_start_ends_with_the_batch_that_fails() -> None:
    """Running requests are not cancelled, since their result would be unknown; later ones are not started."""
    begun, done = [], []

    async def work() -> None:
        number = len(begun)
        begun.append(number)
        await asyncio.sleep(0)  # noqa: TID251 - a step of the event loop, not a wait
        if number == 1:
            raise ValueError("no more")
        done.append(number)

    with pytest.raises(ValueError, match="no more"):
        await slow_start(10, work)
    assert begun == [0, 1, 2]
    assert done == [0, 2]


async def test_slow_start_of_zero_or_less_does_nothing() -> None:
    """Callers need not check the number."""
    for times in (0, -3):
        await slow_start(times, lambda: pytest.fail("nothing was to be done"))


async def test_unbroken_work_returns_its_result() -> None:
    """Without a cancellation the caller gets the result or the failure."""

    async def answer() -> int:
        return 42

    async def fail() -> None:
        raise BoomError

    assert await unbroken(answer()) == 42
    with pytest.raises(BoomError):
        await unbroken(fail())


@pytest.mark.parametrize("failure", [None, BoomError])
async def test_unbroken_work_ends_before_a_cancellation_is_raised(failure: type[Exception] | None) -> None:
    """A client library that is cancelled in the middle leaves its connection open, or swallows the cancellation."""
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def call() -> None:
        begun.set()
        await may_end.wait()
        ended.set()
        if failure is not None:
            raise failure

    async def caller() -> None:
        await unbroken(call())
        raise AssertionError("the cancellation was lost")

    async with background(caller(), name="caller") as task:
        await begun.wait()
        task.cancel()
        asyncio.get_running_loop().call_soon(may_end.set)
    assert task.cancelled()
    assert ended.is_set()
