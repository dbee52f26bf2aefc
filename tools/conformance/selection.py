"""Which conformance specs are run, and what their results mean. Pure."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from steersman.json_types import JsonObject

_LIST = Path(__file__).parent / "left_out.toml"
_SIG = re.compile(r"\[(sig-[a-z-]+)\]")
_CONFORMANCE = "[Conformance]"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Specs that are not run, for one reason."""

    reason: str
    specs: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """A regular expression that matches all of them."""
        return "|".join(f"(?:{spec})" for spec in self.specs)


def left_out() -> list[LeftOut]:
    """Return the list of specs that are not run."""
    return [LeftOut(entry["reason"], tuple(entry["specs"])) for entry in tomllib.loads(_LIST.read_text())["left_out"]]


def conformance_specs(listing: str) -> list[str]:
    """Return the names of all conformance specs in what ``e2e.test --list-tests`` prints."""
    names = (line.strip().partition(": ")[2] for line in listing.splitlines())
    return [name for name in names if _CONFORMANCE in name]


@dataclass(frozen=True, slots=True)
class Selection:
    """The specs of one run."""

    specs: tuple[str, ...]
    #: Reason → number of specs that it leaves out.
    left_out: Mapping[str, int]
    #: Patterns of the list that match no spec.
    unused: tuple[str, ...]


def select(specs: Iterable[str], entries: Iterable[LeftOut], focus: str = "") -> Selection:
    """Return the specs to run: those that match ``focus`` and no entry of the list."""
    specs = [spec for spec in specs if re.search(focus, spec)]
    entries = list(entries)
    reasons: Counter[str] = Counter()
    used: set[str] = set()
    kept = []
    for spec in specs:
        hits = [(entry, part) for entry in entries for part in entry.specs if re.search(part, spec)]
        used |= {part for _, part in hits}
        if hits:
            reasons[hits[0][0].reason] += 1
        else:
            kept.append(spec)
    unused = () if focus else tuple(part for entry in entries for part in entry.specs if part not in used)
    return Selection(tuple(kept), dict(reasons), unused)


@dataclass(slots=True)
class Results:
    """What became of the specs, by special interest group."""

    passed: Counter[str] = field(default_factory=Counter)
    #: Names and messages of specs that failed.
    failed: dict[str, str] = field(default_factory=dict)
    #: Names and messages of specs that skipped themselves.
    skipped: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, report: JsonObject) -> "Results":
        """Read the JSON report of Ginkgo."""
        results = cls()
        for spec in report.get("SpecReports") or ():
            if spec["LeafNodeType"] != "It" or (not spec.get("NumAttempts") and spec["State"] == "skipped"):
                continue
            name = " ".join([*(spec.get("ContainerHierarchyTexts") or ()), spec["LeafNodeText"]])
            message = str((spec.get("Failure") or {}).get("Message", ""))
            if spec["State"] == "passed":
                results.passed[_group(name)] += 1
            elif spec["State"] == "skipped":
                results.skipped[name] = message
            else:
                results.failed[name] = message
        return results


def _group(name: str) -> str:
    match = _SIG.search(name)
    return match[1] if match else "other"


def summary(selection: Selection, results: Results) -> str:
    """Return the counts as text: by group, then what was left out and why."""
    failed = Counter(map(_group, results.failed))
    skipped = Counter(map(_group, results.skipped))
    groups = sorted(results.passed.keys() | failed.keys() | skipped.keys())
    lines = [f"{'':22}passed  failed  skipped"]
    lines += [f"{group:22}{results.passed[group]:6}{failed[group]:8}{skipped[group]:9}" for group in groups]
    lines.append(f"{'all':22}{results.passed.total():6}{failed.total():8}{skipped.total():9}")
    lines += [f"left out: {count:3}  {reason}" for reason, count in selection.left_out.items()]
    lines += [f"failed: {name}\n    {' '.join(why.split())[:300]}" for name, why in sorted(results.failed.items())]
    return "\n".join(lines)
