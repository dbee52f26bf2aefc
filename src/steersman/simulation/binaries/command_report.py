"""`CommandReport`: what a simulation of a program tried and found; in real time, some failures do not repeat."""

from dataclasses import dataclass, field

from steersman.simulation.faults.kinds import KINDS
from steersman.simulation.faults.plans import Plan
from steersman.simulation.reports.report import Report

#: Kinds that need a virtual clock, two replicas or minutes; that strike at webhooks, which are not called; or that know
#: which objects the operator reconciles.
IMPOSSIBLE = frozenset(
    {
        "crash-at-await",
        "drain-timeout",
        "no-response",
        "read-silent",
        "clock-ahead",
        "clock-behind",
        "stall",
        "order",
        "leader-cut-off",
        "leader-crash",
        "webhook-down",
        "webhook-silent",
        "webhook-error",
        "webhook-wrong-uid",
        "webhook-garbage",
        "recreated",
        "recreated-at-event",
    }
)


@dataclass(slots=True)
class CommandReport(Report):
    """The result of a simulation of a program."""

    #: Plans that failed once, and not again.
    unsteady: list[Plan] = field(default_factory=list)
    #: Whether old states could be tried, if they were asked for.
    has_stale_lists: bool = True

    def summary(self) -> str:
        """Return one sentence."""
        tried = len(self.tried)
        result = f"{len(self.failures)} of {tried} plans failed" if self.failures else f"{tried} plans passed"
        missed = f", {len(self.missed)} not reached" if self.missed else ""
        left = f", {self.left} not run" if self.left else ""
        return f"{self.name}: {result}{missed}{left} in {self.seconds:.0f} s"

    def table(self) -> str:
        """Return the coverage, and what was skipped, as text."""
        # Explicit arguments: a dataclass with slots is another class than the one that `super()` means here.
        lines = [Report.table(self)]
        lines.append(f"not possible with a program: {', '.join(kind for kind in KINDS if kind in IMPOSSIBLE)}")
        if not self.has_stale_lists:
            lines.append(
                "skipped stale-restart: no list of the program is one with resourceVersion=0, which may be old"
            )
        if self.unsteady:
            lines.append(f"failed once and passed when run again: {', '.join(map(str, self.unsteady))}")
        return "\n".join(lines)
