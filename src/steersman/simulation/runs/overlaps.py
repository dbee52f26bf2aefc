"""One object at a time: reconciles of an object by two replicas must not overlap. Pure."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple


class ReconcileSpan(NamedTuple):
    """When a replica reconciled an object, in seconds of the simulation; a crash ends it without a span."""

    replica: str
    controller: str
    object: str
    begin: float
    end: float


def overlaps(spans: Sequence[ReconcileSpan]) -> list[str]:
    """Return a sentence for each pair of replicas that reconcile an object at the same time."""
    return [
        f"{one.replica} and {other.replica} reconcile {one.object} at the same time, from "
        f"{max(one.begin, other.begin):g} s to {min(one.end, other.end):g} s"
        for one, other in combinations(spans, 2)
        if one.replica != other.replica and one[1:3] == other[1:3] and one.begin < other.end and other.begin < one.end
    ]
