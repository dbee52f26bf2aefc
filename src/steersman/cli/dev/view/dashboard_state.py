"""The state of the operator: every report changes it, and the screen shows it."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from steersman.cli.dev.reports import (
    Changed,
    Failed,
    Kind,
    Loaded,
    LogLine,
    Printed,
    Queue,
    Queues,
    Reconciled,
    Report,
    Running,
)

#: Number of entries that are kept: no screen is higher.
_REMEMBERED = 200


class Phase(StrEnum):
    """How the operator stands."""

    STARTING = "starting"
    RUNNING = "running"
    BROKEN = "not running"


@dataclass(slots=True)
class Work:
    """What one controller has done since the operator was started, and has to do."""

    runs: int = 0
    failed: int = 0
    queue: Queue = field(default_factory=Queue)


@dataclass(frozen=True, slots=True)
class Problem:
    """The last error that is not known to be resolved."""

    at: float
    text: str
    place: str = ""
    #: Kind and key of the object that it is about; empty if it is about the operator itself.
    subject: str = ""


@dataclass(slots=True)
class DashboardState:
    """The state of one `steer dev`."""

    name: str
    phase: Phase = Phase.STARTING
    #: How often the operator was started because files changed, and which they were the last time.
    reloads: int = 0
    changed: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    work: dict[str, Work] = field(default_factory=dict)
    #: Oldest first.
    runs: deque[Reconciled] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    lines: deque[LogLine | Printed] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    problem: Problem | None = None

    def take(self, report: Report) -> None:
        """Update the state with a report."""
        match report:
            case Loaded():
                self._on_loaded(report)
            case Running():
                self.phase = Phase.RUNNING
            case Reconciled():
                self._on_run(report)
            case Queues(queues):
                self._on_queues(queues)
            case LogLine() | Printed():
                self._on_line(report)
            case Failed(at, error, place):
                self._stop(Phase.BROKEN, Problem(at, error, place))
            case Changed(_, files):
                self._stop(Phase.STARTING, None)
                self.reloads += 1
                self.changed = tuple(files)
            case _:
                assert_never(report)

    def _on_loaded(self, report: Loaded) -> None:
        """Start again: new code counts from zero, and may have other controllers."""
        self.name = report.operator
        self.kinds = tuple(report.kinds)
        self.work = {controller: Work() for controller in report.controllers}

    def _on_run(self, report: Reconciled) -> None:
        run = report.run
        work = self._work_of(run.controller)
        work.runs += 1
        work.failed += run.is_failure
        self.runs.append(report)
        if self.problem is not None and self.problem.subject == str(run.object) and not run.is_failure:
            self.problem = None

    def _on_line(self, line: LogLine | Printed) -> None:
        self.lines.append(line)
        if isinstance(line, LogLine) and "error" in line.fields and line.level in ("error", "warning"):
            subject = f"{line.fields.get('kind', '')} {line.fields.get('key', '')}".strip()
            self.problem = Problem(line.at, str(line.fields["error"]), line.place, subject)

    def _work_of(self, controller: str) -> Work:
        return self.work.setdefault(controller, Work())

    def _on_queues(self, queues: Mapping[str, Queue]) -> None:
        for controller, queue in queues.items():
            self._work_of(controller).queue = queue

    def _stop(self, phase: Phase, problem: Problem | None) -> None:
        """Note that the process has ended, and its queues with it."""
        self.phase = phase
        self.problem = problem
        self._on_queues(dict.fromkeys(self.work, Queue()))
