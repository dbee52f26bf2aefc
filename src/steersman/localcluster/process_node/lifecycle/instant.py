"""One reading of the clock: wall-clock time for people, monotonic time for durations."""

from dataclasses import dataclass
from datetime import datetime

from steersman.clock import Clock


@dataclass(frozen=True, slots=True)
class Instant:
    """When something happened."""

    #: Seconds that never go back.
    at: float
    #: In whole seconds, as the API keeps it.
    wall: datetime

    @classmethod
    def now(cls, clock: Clock) -> "Instant":
        """Return the current instant of a clock."""
        return cls(clock.monotonic(), clock.now().replace(microsecond=0))
