"""An operator whose end a test decides: at a write to the API server, or at a command that changes Redis."""

from collections.abc import Callable, Sequence
from pathlib import Path

from steersman import Operator
from steersman.testing import CrashSwitch, Moment

from redisfailover.operator import redis_operator
from redisfailover.redis_servers import RedisServers


def mortal_operator(backups: Path) -> Callable[[], Operator]:
    """Return what creates an operator for each instance."""
    return lambda: redis_operator(RedisServers(), backups=backups)


class SomeWriteLater:
    """When to end an operator: right after that many writes, counted from when it is asked to count."""

    moment: Moment = "after"

    def __init__(self, number: int) -> None:
        """Do not count yet."""
        self._number = number
        self._begin: int | None = None

    def count_from(self, switch: CrashSwitch) -> None:
        """Begin to count: what was written until now does not."""
        self._begin = len(switch.writes)

    def matches(self, writes: Sequence[str]) -> bool:
        """Return whether that many writes were made since."""
        return self._begin is not None and len(writes) - self._begin == self._number
