"""Retries of many keys: each at its own time, few at once, and none delayed by a crowd."""

import asyncio
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.testing.fake_clock import FakeClock
from steersman.workqueue.backoff import Backoff, Bucket, Exponential
from steersman.workqueue.queue import WorkQueue
from steersman.workqueue.retries import PATIENCE, Retries

#: How late a key may be because of rounding.
_EPSILON = 1e-6


def run_until(retries: Retries[str], now: float, end: float) -> list[tuple[float, str]]:
    """Advance the time; return each released key, with the time."""
    released = []
    while (at := retries.next_at(now)) is not None and at <= end:
        now = max(now, at)
        released += [(now, key) for key in retries.release(now)]
    return released


def test_without_a_limit_each_key_comes_after_its_back_off() -> None:
    """Nothing else delays it."""
    retries = Retries[str](Backoff(Exponential(base=1.0, limit=100.0)))
    assert retries.failed("a", 0.0) == 1.0
    assert retries.failed("b", 0.5) == 1.0
    assert run_until(retries, 0.5, 10.0) == [(1.0, "a"), (1.5, "b")]
    assert retries.failed("a", 2.0) == 2.0
    assert retries.failures("a") == 2


def test_a_healthy_key_does_not_wait_for_a_crowd() -> None:
    """10,000 objects fail; one that fails once gets its retry within a second, whenever that happens."""
    retries = Retries[str].default()
    for number in range(10_000):
        retries.failed(f"crowd-{number}", 0.0)
    retries.failed("at once", 0.0)
    released = {key: at for at, key in run_until(retries, 0.0, 1.1)}
    assert released["at once"] <= 1.005 + _EPSILON
    for moment in (5.0, 50.0, 500.0):
        now = moment
        for key in list(released):
            if key.startswith("crowd"):
                retries.failed(key, now)
        retries.failed(f"healthy-{moment}", now)
        released = {key: at for at, key in run_until(retries, now, now + 1.1)}
        assert released[f"healthy-{moment}"] <= now + 1.005 + _EPSILON


def test_keys_that_failed_often_wait_for_those_that_failed_once() -> None:
    """Of two keys with equal failures, the one that failed last comes first: it may have recovered."""
    retries = Retries[str](Backoff(Exponential(base=0.001, limit=0.001)), Bucket(rate=1.0, burst=1))
    now = 0.0
    for _ in range(3):
        retries.failed("stubborn", now)
        ((now, _),) = run_until(retries, now, now + 10.0)
    retries.failed("stubborn", now)
    retries.failed("first", now)
    retries.failed("second", now + 0.0005)
    order = [key for _, key in run_until(retries, now + 0.0005, now + 100.0)]
    assert order == ["second", "first", "stubborn"]


def test_an_earlier_retry_replaces_a_later_one() -> None:
    """A key that recovered and fails again starts with a short delay."""
    retries = Retries[str](Backoff(Exponential(base=1.0, limit=1000.0)))
    now = 0.0
    for _ in range(5):
        retries.failed("a", now)
        ((now, _),) = run_until(retries, now, now + 100.0)
    assert retries.failed("a", now) == 32.0
    retries.forget("a")
    assert retries.failed("a", now + 1.0) == 1.0
    assert run_until(retries, now + 1.0, now + 100.0) == [(now + 2.0, "a")]
    assert len(retries) == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 0.5), st.integers(0, 12)), min_size=1, max_size=150),
    st.floats(0.5, 20.0),
    st.integers(1, 5),
)
def test_no_key_is_early_or_waits_too_long_and_the_rate_is_kept(
    failures: list[tuple[float, int]], rate: float, burst: int
) -> None:
    """These are the three promises, for any failures."""
    backoff = Backoff[str]()
    retries = Retries[str](backoff, Bucket(rate=rate, burst=burst))
    now, due, latest = 0.0, {}, {}
    released: list[tuple[float, str]] = []
    for pause, name in failures:
        released += run_until(retries, now, now + pause)
        now += pause
        key = str(name)
        is_new = key not in retries
        seconds = retries.failed(key, now)
        if is_new:
            due[key, len(released)] = now + seconds
            latest[key, len(released)] = now + seconds + PATIENCE.after(retries.failures(key) - 1)
    waiting_since = dict(due)
    released += run_until(retries, now, now + 1e6)
    by_tokens = []
    for (key, position), earliest in waiting_since.items():
        at = next(at for at, other in released[position:] if other == key)
        assert earliest - _EPSILON <= at <= latest[key, position] + _EPSILON
        if at < latest[key, position] - _EPSILON:
            by_tokens.append(at)
    by_tokens.sort()
    for first, begin in enumerate(by_tokens):
        for number, end in zip(count(1), by_tokens[first:], strict=False):
            assert number <= burst + rate * (end - begin) + _EPSILON
    assert len(retries) == 0


async def test_a_change_is_processed_before_the_retries_of_a_crowd() -> None:
    """With one slow worker, a healthy object waits for the current object and not for a thousand that fail."""
    clock = FakeClock()
    queue = WorkQueue[str, str](clock=clock)
    done: list[str] = []

    async def work() -> None:
        while (taken := await queue.get()) is not None:
            done.append(taken.key)
            await clock.sleep(1.0)
            if taken.key.startswith("crowd"):
                queue.add_rate_limited(taken.key, priority=taken.priority)
            queue.done(taken.key)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work())
        for number in range(50):
            queue.add(f"crowd-{number}")
        await clock.advance(300.0)
        done.clear()
        queue.add("changed")
        queue.add_rate_limited("unlucky")
        await clock.advance(4.0)
        assert done[1] == "changed" or done[0] == "changed"
        assert "unlucky" in done
        queue.abandon()
        await clock.advance(5.0)
