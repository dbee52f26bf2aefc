"""Slices of an archived oplog, and the way from a backup to a moment: pure functions.

A slice has all entries after its start, up to its end. Both are entries of the oplog, and its name has both with their
terms and a checksum: so the names in the storage are the catalog, and no other file can contradict them. Slices follow
each other if one starts at the entry that the other ends with. A member that lacks the last archived entry, because its
oplog is too short or because a forced reconfiguration gave that entry up, leaves a gap, and a restore across a gap is
rejected: what happened in it is not known.
"""

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from steersman import SteersmanError

from mgors.errors import DamagedError

_NAME = re.compile(r"(\d+)\.(\d+)\.(-?\d+)_(\d+)\.(\d+)\.(-?\d+)_([0-9a-f]{64})\.bson")


class GapError(SteersmanError):
    """The archive does not reach from any backup to the wanted moment."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A position in the oplog, as ``seconds:counter``; the term only shows whether two entries are the same."""

    seconds: int
    counter: int
    term: int = -1

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Parse ``seconds``, ``seconds:counter`` or ``seconds:counter:term``."""
        return cls(*(int(part) for part in text.split(":")), *([0] if ":" not in text else []))

    @classmethod
    def at(cls, time: datetime) -> "Position":
        """Return the position before all entries of a second."""
        return cls(int(time.timestamp()), 0)

    @property
    def place(self) -> tuple[int, int]:
        """The position without the term."""
        return self.seconds, self.counter

    @property
    def time(self) -> datetime:
        """The time of the entry, by the clock of the primary."""
        return datetime.fromtimestamp(self.seconds, UTC)

    def __str__(self) -> str:
        """Return it as mongorestore takes it."""
        return f"{self.seconds}:{self.counter}"

    @property
    def exact(self) -> str:
        """Text with the term."""
        return f"{self}:{self.term}"

    def described(self) -> str:
        """Return it for people: the time and the position."""
        return f"{self.time:%Y-%m-%dT%H:%M:%SZ} ({self})"


@dataclass(frozen=True, slots=True, order=True)
class Slice:
    """A part of the oplog: the entries after ``start``, up to ``end``."""

    start: Position
    end: Position
    sha256: str

    @property
    def name(self) -> str:
        """Name of the file."""
        start, end = (f"{one.seconds:010}.{one.counter:010}.{one.term}" for one in (self.start, self.end))
        return f"{start}_{end}_{self.sha256}.bson"

    @classmethod
    def parse(cls, name: str) -> "Slice | None":
        """Parse the name of a file; return ``None`` for other files."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        numbers = [int(one) for one in found.groups()[:6]]
        return cls(Position(*numbers[:3]), Position(*numbers[3:]), found[7])

    def check(self, file: Path) -> None:
        """Compare the content of a file with the checksum in its name."""
        if checksum(file) != self.sha256:
            raise DamagedError(f"{self.name} of the archived oplog was changed")


def checksum(file: Path) -> str:
    """Return the checksum of a file."""
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def parse_all(names: Iterable[str]) -> list[Slice]:
    """Return the slices among the names of files, in order."""
    return sorted(found for name in names if (found := Slice.parse(name)) is not None)


@dataclass(frozen=True, slots=True)
class Base:
    """A backup from which entries are replayed."""

    name: str
    #: The moment of its snapshot.
    at: Position
    #: The earliest moment that it can be brought to: capped collections are read after the snapshot.
    usable_from: Position


def choose_base(bases: Iterable[Base], slices: Collection[Slice], limit: Position) -> Base:
    """Return the newest backup from which the archive reaches the wanted moment without a gap."""
    usable = sorted(
        (one for one in bases if one.usable_from.place <= limit.place), key=lambda one: one.at, reverse=True
    )
    problem = f"no backup with its place in the oplog was complete before {limit.described()}"
    for number, base in enumerate(usable):
        try:
            chain(slices, base.at, limit)
        except GapError as error:
            if number == 0:
                problem = f"{base.name}: {error}"
        else:
            return base
    raise GapError(problem)


def chain(slices: Collection[Slice], start: Position, limit: Position) -> list[Slice]:
    """Return the slices with all entries after ``start`` and before ``limit``; raise `GapError` if one is missing."""
    if _reaches(start, limit):
        return []
    covering = [one for one in slices if one.start.place <= start.place < one.end.place]
    if not covering:
        raise GapError(f"the oplog after {start.described()} is not archived")
    found = [max(covering, key=lambda one: (one.start, one.end))]
    while not _reaches(found[-1].end, limit):
        end = found[-1].end
        following = [one for one in slices if one.start == end and one.end > end]
        if not following:
            raise GapError(_gap(slices, end))
        found.append(max(following, key=lambda one: one.end))
    return found


def _reaches(end: Position, limit: Position) -> bool:
    """Return whether there is no entry between the end and the limit, which is itself excluded."""
    return (end.seconds, end.counter + 1) >= limit.place


def _gap(slices: Iterable[Slice], end: Position) -> str:
    later = min((one.start for one in slices if one.start > end), default=None)
    if later is None:
        latest = Position(end.seconds, end.counter + 1)
        return f'the archive ends at {end.described()}; with oplogLimit "{latest}" everything up to there is restored'
    return f"the oplog between {end.described()} and {later.described()} is not archived"


def useless(slices: Iterable[Slice], bases: Collection[Position]) -> list[Slice]:
    """Return the slices that no backup needs: those that end before the oldest one. Without a backup all are kept."""
    if not bases:
        return []
    oldest = min(bases)
    return [one for one in slices if one.end.place <= oldest.place]
