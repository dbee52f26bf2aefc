"""`merge`: combines two changed versions of a text, line by line, as version control does.

Lines that all three texts share separate the places where a side has changed. In each place: if one side is as the base
was, the other one is taken; if both sides made the same change, it is taken once; otherwise both stay in the result,
between markers. So no line that a user wrote is ever dropped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Merged:
    """The combined text, and in how many places a person must decide."""

    text: str
    conflicts: int


class _Common(NamedTuple):
    """A run of lines that base, ours and theirs have in common: where it begins in each, and its length."""

    base: int
    ours: int
    theirs: int
    length: int


def merge(base: str, ours: str, theirs: str, *, name: str) -> Merged:
    """Apply the change from ``base`` to ``theirs`` to ``ours``; ``name`` says in the markers what theirs is."""
    lines = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    parts: list[str] = []
    conflicts = 0
    done = _Common(0, 0, 0, 0)
    for common in _common_runs(*lines):
        old, mine, new = (lines[side][done[side] + done.length : common[side]] for side in range(len(lines)))
        chosen = _chosen(old, mine, new)
        if chosen is None:
            conflicts += 1
            chosen = _marked(mine, new, name)
        parts += [*chosen, *lines[0][common.base : common.base + common.length]]
        done = common
    return Merged("".join(parts), conflicts)


def _common_runs(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Iterator[_Common]:
    """Yield the runs of lines that are in all three texts, in order; at last an empty one at the ends."""
    to_ours = SequenceMatcher(None, base, ours, autojunk=False).get_matching_blocks()
    to_theirs = SequenceMatcher(None, base, theirs, autojunk=False).get_matching_blocks()
    first = second = 0
    while first < len(to_ours) and second < len(to_theirs):
        one, other = to_ours[first], to_theirs[second]
        start, end = max(one.a, other.a), min(one.a + one.size, other.a + other.size)
        if start < end:
            yield _Common(start, one.b + start - one.a, other.b + start - other.a, end - start)
        if one.a + one.size < other.a + other.size:
            first += 1
        else:
            second += 1
    yield _Common(len(base), len(ours), len(theirs), 0)


def _chosen(old: list[str], mine: list[str], new: list[str]) -> list[str] | None:
    """Return the lines of one place; ``None`` if both sides have changed it differently."""
    if new in (mine, old):
        return mine
    return new if mine == old else None


def _marked(mine: list[str], new: list[str], name: str) -> list[str]:
    first, second = ([_ended(line) for line in side] for side in (mine, new))
    return ["<<<<<<< yours\n", *first, "=======\n", *second, f">>>>>>> {name}\n"]


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n"
