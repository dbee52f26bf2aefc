"""Back-off of failed keys, and a rate limit for all of them; ``retries`` combines the two.

Pure: the caller passes the time as a number. The defaults are client-go's: 5 ms doubling to 1000 s for each key, and 10
per second with a burst of 100 overall.
"""

import math
from collections.abc import Hashable
from typing import Generic, TypeVar

from msgspec import Struct

K = TypeVar("K", bound=Hashable)


class Exponential(Struct, frozen=True, kw_only=True):
    """A wait that doubles with every failure, up to a limit."""

    base: float = 0.005
    limit: float = 1000.0

    def __post_init__(self) -> None:
        if not 0 < self.base <= self.limit:
            raise ValueError(f"need 0 < base ≤ limit, got {self}")

    def after(self, failures: int) -> float:
        """Return the wait after that many failures; any number is safe."""
        # Above this exponent the limit is reached anyway, and a float would overflow.
        enough = math.ceil(math.log2(self.limit / self.base)) + 1
        return min(self.base * 2.0 ** min(failures, enough), self.limit)


class _Failing(Struct):
    failures: int
    #: When the last retry is due.
    until: float


class Backoff(Generic[K]):
    """Count the failures of each key.

    A failure before the wait of the last one is over does not count: a run that was triggered by something unrelated
    must not delay the retries.
    """

    def __init__(self, wait: Exponential | None = None) -> None:
        self._wait = wait or Exponential()
        self._failing: dict[K, _Failing] = {}

    def failed(self, key: K, now: float) -> float:
        """Count a failure; return the seconds to wait before the next try."""
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
        """Forget the failures of a key: it succeeded, or its object was deleted."""
        self._failing.pop(key, None)

    def failures(self, key: K) -> int:
        """Return the failures of a key since it was last forgotten."""
        known = self._failing.get(key)
        return known.failures if known else 0

    def __len__(self) -> int:
        return len(self._failing)


class Bucket:
    """A token bucket: ``burst`` at once, then ``rate`` per second."""

    def __init__(self, *, rate: float = 10.0, burst: int = 100) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"need rate > 0 and burst ≥ 1, got {rate} and {burst}")
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._at: float | None = None

    def try_take(self, now: float) -> bool:
        """Take a token; return whether there was one."""
        self._refill(now)
        if self._tokens < _WHOLE:
            return False
        self._tokens -= 1.0
        return True

    def next_at(self, now: float) -> float:
        """Return the time at which there is a token, if none is taken before."""
        self._refill(now)
        return now + max(1.0 - self._tokens, 0.0) / self._rate

    def _refill(self, now: float) -> None:
        if self._at is not None and now > self._at:
            self._tokens = min(self._tokens + (now - self._at) * self._rate, float(self._burst))
        self._at = now if self._at is None else max(now, self._at)


#: A token that rounding has made a little smaller is one.
_WHOLE = 1.0 - 1e-9
