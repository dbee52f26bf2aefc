"""Delays between attempts: the numbers of client-go, without overflow."""

import pytest

from steersman.workqueue.backoff import Backoff, Bucket, Exponential


def test_delays_double_from_five_milliseconds_to_a_thousand_seconds() -> None:
    """The defaults are client-go's."""
    wait = Exponential()
    assert [wait.after(n) for n in range(4)] == [0.005, 0.01, 0.02, 0.04]
    assert wait.after(17) == pytest.approx(655.36)
    assert wait.after(18) == 1000.0


def test_any_number_of_failures_is_safe() -> None:
    """An object that fails for a year must not raise OverflowError."""
    assert Exponential().after(10**9) == 1000.0


def test_each_key_counts_separately_and_forget_resets_it() -> None:
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


def taken(bucket: Bucket, now: float, tries: int) -> int:
    """Return how many of that many tokens were available."""
    return sum(bucket.try_take(now) for _ in range(tries))


def test_the_bucket_allows_its_burst_then_its_rate() -> None:
    """A hundred at once, then ten a second."""
    bucket = Bucket()
    assert taken(bucket, 0.0, 103) == 100
    assert bucket.next_at(0.0) == pytest.approx(0.1)
    assert taken(bucket, 0.1, 2) == 1
    assert taken(bucket, 0.3, 3) == 2
    assert bucket.next_at(10.0) == 10.0


def test_the_bucket_never_holds_more_than_its_burst() -> None:
    """A quiet night does not allow a flood in the morning."""
    bucket = Bucket(rate=10, burst=2)
    bucket.try_take(0.0)
    assert taken(bucket, 1e6, 3) == 2


def test_a_clock_that_stops_or_goes_back_adds_no_tokens() -> None:
    """Time that repeats must not refill the bucket."""
    bucket = Bucket(rate=1, burst=1)
    assert bucket.try_take(100.0)
    assert not bucket.try_take(50.0)
    assert not bucket.try_take(100.0)
    assert bucket.try_take(101.0)


@pytest.mark.parametrize("rate", [10.0, 3.0, 0.7])
def test_a_token_is_available_at_the_returned_time(rate: float) -> None:
    """Otherwise a timer would fire too early, repeatedly, without time advancing."""
    bucket = Bucket(rate=rate, burst=1)
    now = 12345.678
    bucket.try_take(now)
    for _ in range(1000):
        now = bucket.next_at(now)
        assert bucket.try_take(now)


def test_limits_that_cannot_work_are_rejected() -> None:
    """A zero rate would silently wait forever."""
    with pytest.raises(ValueError, match="rate"):
        Bucket(rate=0)
    with pytest.raises(ValueError, match="base"):
        Exponential(base=0)
