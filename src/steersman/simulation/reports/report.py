"""`Report`: what a simulation tried and what it found, as text or JSON."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from steersman.json_types import JsonObject
from steersman.simulation.faults.kinds import KINDS, SKIPPED
from steersman.simulation.faults.plans import Plan
from steersman.simulation.oracles.judge import Finding, Reference
from steersman.simulation.reports.explanation import explain
from steersman.simulation.runs.run import Outcome

#: Number of failures that are described in full.
_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """A plan under which something is wrong."""

    plan: Plan
    findings: list[Finding]
    outcome: Outcome | None = None


class Coverage(msgspec.Struct, frozen=True):
    """How often one kind of fault was tried."""

    fault: str
    number: str
    tried: int
    failed: int
    missed: int = msgspec.field(name="notReached")


@dataclass(slots=True)
class Report:
    """The result of a simulation."""

    name: str
    seed: int
    reference: Reference
    #: The plans that ran, in order.
    tried: list[Plan] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    #: Plans whose fault never struck, because the run went another way.
    missed: list[Plan] = field(default_factory=list)
    #: Plans that were not run: the simulation was interrupted.
    left: int = 0
    #: Whether Ctrl-C ended it: what was tried says nothing about the rest.
    is_interrupted: bool = False
    #: Kinds of faults that were not asked for.
    unasked: list[str] = field(default_factory=list)
    #: Kinds of faults that need two replicas, where only one can be made.
    impossible: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def plans_per_second(self) -> float:
        """How fast it was."""
        return len(self.tried) / self.seconds if self.seconds else 0.0

    @property
    def passed(self) -> int:
        """Number of plans whose faults struck and did no harm."""
        return len(self.tried) - len(self.failures) - len(self.missed)

    def sort(self, todo: Sequence[Plan]) -> None:
        """Sort the results by the order of the plans: workers end in any order."""
        place = {plan: number for number, plan in enumerate(todo)}
        self.tried.sort(key=lambda plan: place[plan])
        self.missed.sort(key=lambda plan: place[plan])
        self.failures.sort(key=lambda failure: place.get(failure.plan, len(place)))

    def raise_if_failed(self) -> None:
        """Raise ``AssertionError`` with the explanation if a plan failed, or if no fault of any plan was reached."""
        if self.is_interrupted:
            raise KeyboardInterrupt
        if self.failures:
            raise AssertionError(self.text())
        if self.missed and not self.passed:
            raise AssertionError(f"no fault was tried: {self._not_reached()}")

    def text(self) -> str:
        """Return the report as text: failures with their explanations, then what was tried."""
        told = [
            f"{failure.plan}\n{_indented(explain(self.reference, failure.plan, failure.findings, failure.outcome))}"
            for failure in self.failures[:_MOST_TOLD]
        ]
        if len(self.failures) > _MOST_TOLD:
            told.append(f"… and {len(self.failures) - _MOST_TOLD} more: {_names(self.failures[_MOST_TOLD:])}")
        return "\n\n".join([self.summary(), *told])

    def summary(self) -> str:
        """Return one sentence."""
        failed = f"{len(self.failures)} of {plural(len(self.tried), 'plan')} failed"
        result = failed if self.failures else f"{plural(self.passed, 'plan')} passed"
        missed = f", {len(self.missed)} not reached" if self.missed else ""
        left = f", {self.left} not run" if self.left else ""
        speed = f"{self.seconds:.1f} s ({self.plans_per_second:.0f} a second, seed {self.seed})"
        return f"{self.name}: {result}{missed}{left} in {speed}"

    def _not_reached(self) -> str:
        """Return the plans whose faults did not strike, and the steps that there are."""
        recording = self.reference.outcome.recording
        steps = [
            plural(len(found), noun)
            for noun, found in (
                ("write", recording.writes),
                ("read", recording.reads),
                ("event", recording.events),
                ("await", recording.awaits),
                ("rest", recording.rests),
            )
        ]
        return f"{_listed(self.missed)} (the undisturbed run has {', '.join(steps)})"

    def coverage(self) -> list[Coverage]:
        """Return for each kind of fault how many plans were tried, how many failed, and how many were not reached."""
        tried = Counter(fault.kind for plan in self.tried for fault in plan.faults)
        failed = Counter(fault.kind for failure in self.failures for fault in failure.plan.faults)
        missed = Counter(fault.kind for plan in self.missed for fault in plan.faults)
        return [
            Coverage(kind.name, kind.number, tried[kind.name], failed[kind.name], missed[kind.name])
            for kind in KINDS.values()
            if tried[kind.name]
        ]

    def table(self) -> str:
        """Return the coverage, and what was skipped, as text."""
        lines = [f"{'fault':20} {'':4} {'tried':>6} {'failed':>6} {'not reached':>12}"]
        lines += [
            f"{one.fault:20} {one.number:4} {one.tried:6} {one.failed:6} {one.missed:12}" for one in self.coverage()
        ]
        plain = [name for name in self.unasked if not KINDS[name].exotic]
        lines += [f"not asked for: {', '.join(plain)}"] if plain else []
        lines += [
            f"skipped {name}: {KINDS[name].exotic}; ask for it by its name"
            for name in self.unasked
            if KINDS[name].exotic
        ]
        if self.impossible:
            lines.append(f"skipped {', '.join(self.impossible)}: two replicas need a function that makes the operator")
        lines += [f"not reached: {self._not_reached()}"] if self.missed else []
        return "\n".join([*lines, *(f"skipped {number}: {why}" for number, why in SKIPPED.items())])

    def json(self) -> bytes:
        """Return the report as JSON."""
        document: JsonObject = {
            "name": self.name,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "plans": len(self.tried),
            "notRun": self.left,
            "notReached": [str(plan) for plan in self.missed],
            "coverage": [msgspec.to_builtins(one) for one in self.coverage()],
            "skipped": {
                **SKIPPED,
                **{name: KINDS[name].exotic or "not asked for" for name in self.unasked},
                **dict.fromkeys(self.impossible, "two replicas need a function that makes the operator"),
            },
            "failures": [
                {"plan": str(failure.plan), "findings": [msgspec.to_builtins(one) for one in failure.findings]}
                for failure in self.failures
            ],
        }
        return msgspec.json.format(msgspec.json.encode(document), indent=2)


def plural(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _names(failures: Iterable[Failure]) -> str:
    return ", ".join(str(failure.plan) for failure in failures)


def _listed(plans: Sequence[Plan]) -> str:
    more = f", … and {len(plans) - _MOST_TOLD} more" if len(plans) > _MOST_TOLD else ""
    return ", ".join(map(str, plans[:_MOST_TOLD])) + more


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in text.splitlines())
