"""How long to wait before trying again: longer for a key that keeps failing, and never too much at once overall.

Pure: time is a number that the caller hands in. The defaults are client-go's.
"""

import math
from collections.abc import Hashable
from typing import Generic, TypeVar

from msgspec import Struct

K = TypeVar("K", bound=Hashable)


class Exponential(Struct, frozen=True, kw_only=True):
    """Seconds that double with every failure, up to a limit."""

    base: float = 0.005
    limit: float = 1000.0

    def __post_init__(self) -> None:
        if not 0 < self.base <= self.limit:
            raise ValueError(f"need 0 < base ≤ limit, got {self}")

    def after(self, failures: int) -> float:
        """Give the wait after that many earlier failures; any number is safe."""
        # Beyond this exponent the limit is reached anyway, and a float would overflow.
        enough = math.ceil(math.log2(self.limit / self.base)) + 1
        return min(self.base * 2.0 ** min(failures, enough), self.limit)


class _Failing(Struct):
    failures: int
    #: When the retry that was granted last is due.
    until: float


class Backoff(Generic[K]):
    """Counts the failures of each key.

    A failure that comes before the wait of the last one is over does not count: work that was triggered meanwhile by
    something unrelated must not make the retries rarer.
    """

    def __init__(self, wait: Exponential | None = None) -> None:
        self._wait = wait or Exponential()
        self._failing: dict[K, _Failing] = {}

    def failed(self, key: K, now: float) -> float:
        """Count a failure; give the seconds to wait before the next try."""
        known = self._failing.get(key)
        if known is None:
            seconds = self._wait.after(0)
            self._failing[key] = _Failing(1, now + seconds)
            return seconds
        if now < known.until:
            return known.until - now
        seconds = self._wait.after(known.failures)
        known.failures += 1
        known.until = now + seconds
        return seconds

    def forget(self, key: K) -> None:
        """Begin anew for a key: it succeeded, or it is gone."""
        self._failing.pop(key, None)

    def failures(self, key: K) -> int:
        """Give how often a key has failed since it was last forgotten."""
        known = self._failing.get(key)
        return known.failures if known else 0

    def __len__(self) -> int:
        return len(self._failing)


class Bucket:
    """A token bucket: ``burst`` at once, then ``rate`` per second; waits are reserved, so they add up fairly."""

    def __init__(self, *, rate: float = 10.0, burst: int = 100) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"need rate > 0 and burst ≥ 1, got {rate} and {burst}")
        self._rate = rate
        self._burst = burst
        #: Tokens left; below zero while reservations wait for tokens to come.
        self._tokens = float(burst)
        self._at: float | None = None

    def reserve(self, now: float) -> float:
        """Take a token; give the seconds until it is there."""
        if self._at is not None and now > self._at:
            self._tokens = min(self._tokens + (now - self._at) * self._rate, float(self._burst))
        self._at = now if self._at is None else max(now, self._at)
        self._tokens -= 1.0
        return 0.0 if self._tokens >= 0 else -self._tokens / self._rate


class RateLimiter(Generic[K]):
    """The longer of two waits: the back-off of the key, and the overall bucket if there is one."""

    def __init__(self, backoff: Backoff[K] | None = None, bucket: Bucket | None = None) -> None:
        self._backoff = backoff if backoff is not None else Backoff[K]()
        self._bucket = bucket

    @classmethod
    def default(cls) -> "RateLimiter[K]":
        """Give client-go's: 5 ms doubling to 1000 s per key, and 10 per second with a burst of 100 overall."""
        return cls(Backoff(), Bucket())

    def when(self, key: K, now: float) -> float:
        """Count a failure of the key; give the seconds to wait before it is tried again."""
        own = self._backoff.failed(key, now)
        return own if self._bucket is None else max(own, self._bucket.reserve(now))

    def forget(self, key: K) -> None:
        """Begin anew for a key."""
        self._backoff.forget(key)

    def failures(self, key: K) -> int:
        """Give how often a key has failed since it was last forgotten."""
        return self._backoff.failures(key)
