"""Waits between tries: client-go's numbers, and nothing that overflows."""

import pytest

from steersman.workqueue.backoff import Backoff, Bucket, Exponential, RateLimiter


def test_waits_double_from_five_milliseconds_to_a_thousand_seconds() -> None:
    """The defaults are client-go's."""
    wait = Exponential()
    assert [wait.after(n) for n in range(4)] == [0.005, 0.01, 0.02, 0.04]
    assert wait.after(17) == pytest.approx(655.36)
    assert wait.after(18) == 1000.0


def test_any_number_of_failures_is_safe() -> None:
    """An object that fails for a year must not raise OverflowError."""
    assert Exponential().after(10**9) == 1000.0


def test_each_key_counts_for_itself_and_forget_begins_anew() -> None:
    """One broken object does not slow the others."""
    backoff = Backoff[str]()
    now = 0.0
    for expected in (0.005, 0.01, 0.02):
        waited = backoff.failed("bad", now)
        assert waited == pytest.approx(expected)
        now += waited
    assert backoff.failed("other", now) == pytest.approx(0.005)
    backoff.forget("bad")
    assert backoff.failures("bad") == 0
    assert backoff.failed("bad", now) == pytest.approx(0.005)


def test_a_failure_before_the_retry_is_due_does_not_count() -> None:
    """Unrelated events that trigger a failing object must not make its retries rarer."""
    backoff = Backoff[str](Exponential(base=1.0, limit=100.0))
    assert backoff.failed("a", 0.0) == 1.0
    assert backoff.failed("a", 0.25) == 0.75
    assert backoff.failures("a") == 1
    assert backoff.failed("a", 1.0) == 2.0


def test_the_bucket_gives_its_burst_then_its_rate() -> None:
    """A hundred at once, then ten a second."""
    bucket = Bucket()
    waits = [bucket.reserve(0.0) for _ in range(103)]
    assert waits[:100] == [0.0] * 100
    assert waits[100:] == pytest.approx([0.1, 0.2, 0.3])
    assert bucket.reserve(10.0) == 0.0


def test_the_bucket_never_holds_more_than_its_burst() -> None:
    """A quiet night does not allow a flood in the morning."""
    bucket = Bucket(rate=10, burst=2)
    bucket.reserve(0.0)
    assert [bucket.reserve(1e6) for _ in range(3)] == pytest.approx([0.0, 0.0, 0.1])


def test_a_clock_that_stands_still_or_goes_back_gives_no_tokens() -> None:
    """Time that repeats must not refill the bucket."""
    bucket = Bucket(rate=1, burst=1)
    assert bucket.reserve(100.0) == 0.0
    assert bucket.reserve(50.0) == 1.0
    assert bucket.reserve(100.0) == 2.0


def test_the_longer_wait_of_both_limits_counts() -> None:
    """A key's back-off never undercuts the overall limit, nor the other way round."""
    limiter = RateLimiter[str](Backoff(Exponential(base=0.5, limit=10)), Bucket(rate=1, burst=1))
    assert limiter.when("a", 0.0) == 0.5
    assert limiter.when("b", 0.0) == 1.0


def test_limits_that_cannot_work_are_refused() -> None:
    """A zero rate would wait for ever without saying so."""
    with pytest.raises(ValueError, match="rate"):
        Bucket(rate=0)
    with pytest.raises(ValueError, match="base"):
        Exponential(base=0)
