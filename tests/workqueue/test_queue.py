"""The queue as its workers use it, with a clock that does not advance."""

import asyncio

from steersman.testing.fake_clock import FakeClock
from steersman.workqueue.backoff import Backoff, Exponential
from steersman.workqueue.queue import WorkQueue
from steersman.workqueue.retries import Retries


def make(clock: FakeClock) -> WorkQueue[str, str]:
    """Return a queue whose back-off begins at one second."""
    return WorkQueue(clock=clock, retries=Retries(Backoff(Exponential(base=1.0, limit=100.0))))


async def took(queue: WorkQueue[str, str]) -> str:
    """Take a key that must exist."""
    taken = await queue.get()
    assert taken is not None
    return taken.key


async def test_a_waiting_worker_gets_the_next_key() -> None:
    """Work starts when it arrives, without polling."""
    queue = make(clock := FakeClock())
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(took(queue))
        await clock.settle()
        queue.add("a")
    assert waiting.result() == "a"


async def test_no_key_is_with_two_workers() -> None:
    """Two reconciles of one object would conflict."""
    queue = make(clock := FakeClock())
    running: list[str] = []

    async def work() -> None:
        while (taken := await queue.get()) is not None:
            assert taken.key not in running
            running.append(taken.key)
            await clock.sleep(1.0)
            running.remove(taken.key)
            queue.done(taken.key)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(4):
            tasks.create_task(work())
        for key in "abcabcabc":
            queue.add(key)
            await clock.advance(0.3)
        queue.shut_down()
        await clock.advance(20.0)


async def test_a_delayed_key_comes_at_its_earliest_time() -> None:
    """Of several delays the earliest counts."""
    queue = make(clock := FakeClock())
    queue.add_after("a", 10.0)
    queue.add_after("a", 4.0)
    queue.add_after("b", 7.0)
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(took(queue))
        second = tasks.create_task(took(queue))
        await clock.advance(3.9)
        assert not first.done()
        await clock.advance(0.1)
        assert first.result() == "a"
        assert not second.done()
        await clock.advance(3.0)
    assert second.result() == "b"


async def test_no_delay_means_now() -> None:
    """Zero and less need no timer."""
    queue = make(FakeClock())
    queue.add_after("a", 0.0)
    queue.add_after("b", -1.0)
    assert [await took(queue), await took(queue)] == ["a", "b"]


async def test_delays_of_failures_grow_until_forgotten() -> None:
    """The delays are those of the rate limiter."""
    queue = make(clock := FakeClock())
    waits = []
    for _ in range(3):
        waits.append(queue.add_rate_limited("a"))
        await clock.advance(waits[-1])
        queue.done(await took(queue))
    assert waits == [1.0, 2.0, 4.0]
    assert queue.failures("a") == 3
    queue.forget("a")
    assert queue.add_rate_limited("a") == 1.0


async def test_a_cancelled_worker_passes_its_wakeup_on() -> None:
    """A key must not be forgotten because the worker that was woken for it ended."""
    queue = make(clock := FakeClock())
    async with asyncio.TaskGroup() as tasks:
        dying = tasks.create_task(took(queue))
        living = tasks.create_task(took(queue))
        await clock.settle()
        queue.add("a")
        dying.cancel()
    assert living.result() == "a"


async def test_shutting_down_returns_ready_keys_then_ends_the_workers() -> None:
    """Accepted keys are processed; later ones are not."""
    queue = make(FakeClock())
    queue.add("a")
    queue.add_after("later", 5.0)
    queue.shut_down()
    queue.add("b")
    assert await took(queue) == "a"
    queue.done("a")
    assert await queue.get() is None


async def test_drain_waits_for_running_work() -> None:
    """A grace period is for finishing."""
    queue = make(clock := FakeClock())
    queue.add("a")
    key = await took(queue)
    async with asyncio.TaskGroup() as tasks:
        draining = tasks.create_task(queue.drain())
        await clock.settle()
        assert not draining.done()
        queue.done(key)


async def test_a_second_shut_down_releases_a_stuck_drain() -> None:
    """A worker that never ends must not keep the process alive forever."""
    queue = make(clock := FakeClock())
    queue.add("a")
    await took(queue)
    async with asyncio.TaskGroup() as tasks:
        draining = tasks.create_task(queue.drain())
        await clock.settle()
        queue.shut_down()
        await clock.settle()
        assert draining.done()


async def test_statistics_and_the_observer_see_every_step() -> None:
    """Dashboards show these numbers."""
    seen: list[tuple[str, float]] = []

    class Observer:
        def added(self) -> None:
            seen.append(("added", 0.0))

        def taken(self, waited: float) -> None:
            seen.append(("taken", waited))

        def finished(self, worked: float) -> None:
            seen.append(("finished", worked))

        def retried(self) -> None:
            seen.append(("retried", 0.0))

    clock = FakeClock()
    queue = WorkQueue[str, str](clock=clock, observer=Observer())
    queue.add("a")
    await clock.advance(2.0)
    key = await took(queue)
    await clock.advance(3.0)
    statistics = queue.statistics()
    assert (statistics.running, statistics.unfinished_seconds, statistics.longest_seconds) == (1, 3.0, 3.0)
    queue.add_rate_limited(key)
    queue.done(key)
    assert seen == [("added", 0.0), ("taken", 2.0), ("retried", 0.0), ("finished", 3.0)]
