"""How long a container that ended waits before it runs again: a kubelet's rule. Pure."""

from dataclasses import dataclass

#: The longest wait in seconds; after a run of twice that time the back-off is reset.
LIMIT = 300.0


@dataclass(slots=True)
class RestartBackoff:
    """The waits of one container: none, then the base, then twice as long each time."""

    #: Seconds of the first wait.
    base: float = 10.0
    _wait: float = 0.0
    _restarted_at: float | None = None

    def due(self, ended_at: float) -> float:
        """Return when a container that ended then may run again. The wait counts from its end."""
        return ended_at if self._is_forgotten(ended_at) else ended_at + self._wait

    def restarted(self, now: float) -> None:
        """Note a restart: the next wait is longer, unless the last restart was long ago."""
        self._wait = self.base if self._is_forgotten(now) else min(self._wait * 2, max(LIMIT, self.base))
        self._restarted_at = now

    @property
    def seconds(self) -> float:
        """How long the wait is."""
        return self._wait

    def _is_forgotten(self, now: float) -> bool:
        return self._restarted_at is None or now - self._restarted_at > 2 * LIMIT
