"""Create operators for crash tests, and decide at which write they crash: to the API server or to Redis."""

from collections.abc import Callable, Sequence
from pathlib import Path

from steersman import Operator
from steersman.testing import CrashSwitch, Moment

from redisfailover.operator import redis_operator
from redisfailover.redis_servers import RedisServers


def operator_factory(backups: Path) -> Callable[[], Operator]:
    """Return a function that creates one instance of the operator."""
    return lambda: redis_operator(RedisServers(), backups=backups)


class CrashAfterWrites:
    """Crash an operator right after a number of writes, counted from a given moment."""

    moment: Moment = "after"

    def __init__(self, number: int) -> None:
        """Create it; it does not count yet."""
        self._number = number
        self._begin: int | None = None

    def count_from(self, fuse: CrashSwitch) -> None:
        """Start to count: earlier writes do not count."""
        self._begin = len(fuse.writes)

    def matches(self, writes: Sequence[str]) -> bool:
        """Return whether that many writes were made since."""
        return self._begin is not None and len(writes) - self._begin == self._number
