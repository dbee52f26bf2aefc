"""`OperationsReport`: which sequences of operations were tried, and what they led to, as text or JSON."""

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from steersman.json_types import JsonObject
from steersman.simulation.operations.sequences import OperationSequence
from steersman.simulation.oracles.judge import Finding
from steersman.simulation.reports.report import plural

#: Number of failures that are described in full.
_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class OperationsFailure:
    """A sequence after which something is wrong."""

    sequence: OperationSequence
    findings: list[Finding]

    def __str__(self) -> str:
        found = "\n".join(str(finding) for finding in self.findings)
        text = f"{self.sequence.template}: {self.sequence}\n{found}"
        return "\n  ".join(text.splitlines())


@dataclass(slots=True)
class OperationsReport:
    """The result of a simulation of generated operations."""

    name: str
    seed: int
    #: The sequences that ran, in order.
    tried: list[OperationSequence] = field(default_factory=list)
    failures: list[OperationsFailure] = field(default_factory=list)
    #: Why the server did not allow a step, or the operator gave up on the spec, by sequence.
    rejected: dict[str, str] = field(default_factory=dict)
    #: Sequences that were not run.
    left: int = 0
    #: Kinds for which no valid object could be generated.
    skipped: list[str] = field(default_factory=list)
    is_interrupted: bool = False
    seconds: float = 0.0

    @property
    def passed(self) -> int:
        """Number of sequences that ended as they should."""
        return len(self.tried) - len(self.failures) - len(self.rejected)

    def raise_if_failed(self) -> None:
        """Raise ``AssertionError`` with the explanation if a sequence failed, or if none could be tried."""
        if self.is_interrupted:
            raise KeyboardInterrupt
        if self.failures or not self.passed:
            raise AssertionError(self.text())

    def summary(self) -> str:
        """Return one sentence."""
        failed = f"{len(self.failures)} of {plural(len(self.tried), 'sequence')} failed"
        result = failed if self.failures else f"{plural(self.passed, 'sequence')} of operations passed"
        rejected = f", {len(self.rejected)} not allowed" if self.rejected else ""
        left = f", {self.left} not run" if self.left else ""
        return f"{self.name}: {result}{rejected}{left} in {self.seconds:.1f} s (seed {self.seed})"

    def text(self) -> str:
        """Return the report as text."""
        told = [str(failure) for failure in self.failures[:_MOST_TOLD]]
        if len(self.failures) > _MOST_TOLD:
            told.append(f"… and {len(self.failures) - _MOST_TOLD} more")
        return "\n\n".join([self.summary(), *told])

    def table(self) -> str:
        """Return how often each template was tried, and what was skipped, as text."""
        tried = Counter(sequence.template for sequence in self.tried)
        failed = Counter(failure.sequence.template for failure in self.failures)
        lines = [f"{'operations':20} {'tried':>6} {'failed':>6}"]
        lines += [f"{template:20} {count:6} {failed[template]:6}" for template, count in tried.items()]
        lines += [f"not allowed: {sequence} ({why})" for sequence, why in list(self.rejected.items())[:_MOST_TOLD]]
        lines += [f"skipped {kind}: no valid object can be generated from its schema" for kind in self.skipped]
        return "\n".join(lines)

    def json(self) -> bytes:
        """Return the report as JSON."""
        document: JsonObject = {
            "name": self.name,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "sequences": [str(sequence) for sequence in self.tried],
            "notRun": self.left,
            "notAllowed": self.rejected,
            "skipped": self.skipped,
            "failures": [
                {
                    "sequence": str(failure.sequence),
                    "template": failure.sequence.template,
                    "findings": [msgspec.to_builtins(one) for one in failure.findings],
                }
                for failure in self.failures
            ],
        }
        return msgspec.json.format(msgspec.json.encode(document), indent=2)
