"""What a container's probe has found out: when to ask next, and what the answers so far mean. Pure."""

from dataclasses import dataclass
from enum import Enum

from steersman.kinds.core_v1 import Container, Probe

_PERIOD, _TIMEOUT, _FAILURES = 10, 1, 3
#: Seconds before a container that has never been ready is probed again, at first; doubled each time, up to the period.
#: A kubelet waits a whole period; on a laptop that is too long, and no count depends on it.
_EAGER = 0.1


class ProbeKind(Enum):
    """What a probe is for."""

    STARTUP = "Startup"
    LIVENESS = "Liveness"
    READINESS = "Readiness"


@dataclass(slots=True)
class ProbeWatch:
    """One probe of one run of a container."""

    kind: ProbeKind
    probe: Probe
    #: When it is asked next.
    due: float
    #: The current result. A container is alive until proven dead, and neither started nor ready until proven so.
    is_good: bool
    is_under_way: bool = False
    _began: float = 0.0
    _successes: int = 0
    _failures: int = 0
    _was_good: bool = False

    @classmethod
    def begin(cls, kind: ProbeKind, probe: Probe, now: float) -> "ProbeWatch":
        """Return the watch of a container that has just been started."""
        return cls(kind, probe, now + (probe.initial_delay_seconds or 0), is_good=kind is ProbeKind.LIVENESS)

    @property
    def timeout(self) -> float:
        """Seconds that an answer may take."""
        return float(self.probe.timeout_seconds or _TIMEOUT)

    @property
    def has_failed(self) -> bool:
        """Whether it failed as often in a row as it takes."""
        return self._failures >= (self.probe.failure_threshold or _FAILURES)

    @property
    def is_eager(self) -> bool:
        """Whether it is probed more often than its period, because the container has yet to become ready."""
        return self.kind is ProbeKind.READINESS and not self._was_good

    def ask(self, now: float) -> None:
        """Note that the probe is running."""
        self.is_under_way, self._began = True, now

    def answer(self, now: float, *, is_success: bool) -> None:
        """Handle a result."""
        self.is_under_way = False
        period = float(self.probe.period_seconds or _PERIOD)
        if self.is_eager and not is_success:
            period = min(period, _EAGER * 2.0 ** min(self._failures, 16))
        self.due = max(self._began + period, now)
        if is_success:
            self._successes, self._failures = self._successes + 1, 0
            self.is_good = self.is_good or self._successes >= (self.probe.success_threshold or 1)
            self._was_good = self._was_good or self.is_good
        else:
            self._successes, self._failures = 0, self._failures + 1
            self.is_good = self.is_good and not self.has_failed


def probes_of(container: Container, now: float) -> dict[ProbeKind, ProbeWatch]:
    """Return the watches of all probes that a container declares."""
    declared = {
        ProbeKind.STARTUP: container.startup_probe,
        ProbeKind.LIVENESS: container.liveness_probe,
        ProbeKind.READINESS: container.readiness_probe,
    }
    return {kind: ProbeWatch.begin(kind, probe, now) for kind, probe in declared.items() if probe is not None}
