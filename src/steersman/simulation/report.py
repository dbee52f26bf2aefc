"""`Report`: what a simulation tried and what it found, as text or JSON."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from steersman.json_types import JsonObject
from steersman.simulation.explanation import explain
from steersman.simulation.fault_kinds import KINDS, SKIPPED
from steersman.simulation.oracles import Finding, Reference
from steersman.simulation.plans import Plan
from steersman.simulation.run import Outcome

#: How many failures are told in full.
_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """A plan under which something is wrong."""

    plan: Plan
    findings: list[Finding]
    outcome: Outcome | None = None


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

    def raise_if_failed(self) -> None:
        """Raise ``AssertionError`` with the explanation if a plan failed."""
        if self.is_interrupted:
            raise KeyboardInterrupt
        if self.failures:
            raise AssertionError(self.text())

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
        result = (
            f"{len(self.failures)} of {len(self.tried)} plans failed"
            if self.failures
            else f"{len(self.tried)} plans passed"
        )
        left = f", {self.left} not run" if self.left else ""
        speed = f"{self.seconds:.1f} s ({self.plans_per_second:.0f} a second, seed {self.seed})"
        return f"{self.name}: {result}{left} in {speed}"

    def coverage(self) -> list[tuple[str, str, int, int]]:
        """Return for each kind of fault its number, how many plans were tried, and how many failed."""
        tried = Counter(fault.kind for plan in self.tried for fault in plan.faults)
        failed = Counter(fault.kind for failure in self.failures for fault in failure.plan.faults)
        return [
            (kind.name, kind.number, tried[kind.name], failed[kind.name]) for kind in KINDS.values() if tried[kind.name]
        ]

    def table(self) -> str:
        """Return the coverage, and what was skipped, as text."""
        lines = [f"{'fault':20} {'':4} {'tried':>6} {'failed':>6}"]
        lines += [f"{name:20} {number:4} {tried:6} {failed:6}" for name, number, tried, failed in self.coverage()]
        plain = [name for name in self.unasked if not KINDS[name].exotic]
        lines += [f"not asked for: {', '.join(plain)}"] if plain else []
        lines += [
            f"skipped {name}: {KINDS[name].exotic}; ask for it by its name"
            for name in self.unasked
            if KINDS[name].exotic
        ]
        if self.impossible:
            lines.append(f"skipped {', '.join(self.impossible)}: two replicas need a function that makes the operator")
        lines += [f"not reached: {len(self.missed)} plans, because the run went another way"] if self.missed else []
        return "\n".join([*lines, *(f"skipped {number}: {why}" for number, why in SKIPPED.items())])

    def json(self) -> bytes:
        """Return the report as JSON."""
        document: JsonObject = {
            "name": self.name,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "plans": len(self.tried),
            "notRun": self.left,
            "coverage": [
                {"fault": name, "number": number, "tried": tried, "failed": failed}
                for name, number, tried, failed in self.coverage()
            ],
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


def _names(failures: Iterable[Failure]) -> str:
    return ", ".join(str(failure.plan) for failure in failures)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in text.splitlines())
