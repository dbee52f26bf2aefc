"""Slices of the archived oplog: which of them lead from a backup to a moment."""

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgors.errors import DamagedError
from mgors.oplog import Base, GapError, Position, Slice, chain, checksum, choose_base, parse_all, useless

SUM = "0" * 64


def at(seconds: int, counter: int = 1, term: int = 1) -> Position:
    """Return a position."""
    return Position(seconds, counter, term)


def slices(*seconds: int, term: int = 1) -> list[Slice]:
    """Return slices that follow each other."""
    return [Slice(at(start, term=term), at(end, term=term), SUM) for start, end in pairwise(seconds)]


def test_a_name_is_read_back() -> None:
    """The names are the only catalog of the archive."""
    [one] = slices(10, 20)
    assert parse_all(["x", one.name, f"{one.name}.partial"]) == [one]


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=12, unique=True), st.data())
def test_the_chain_has_every_entry_exactly_once(ends: list[int], data: st.DataObject) -> None:
    """A crash after an upload leaves a slice that the next one contains; the order of a listing means nothing."""
    found = slices(0, *sorted(ends))
    shorter = [Slice(one.start, Position(one.start.seconds, 5, 1), SUM) for one in found[1:]]
    listed = [*found, *data.draw(st.lists(st.sampled_from(shorter)) if shorter else st.just([]))]
    start = data.draw(st.integers(0, max(ends)))
    limit = data.draw(st.integers(start, max(ends)))
    way = chain(data.draw(st.permutations(listed)), at(start), at(limit))
    covered = {n for one in way for n in range(one.start.seconds + 1, one.end.seconds + 1)}
    assert covered >= set(range(start + 1, limit))
    assert all(one.end == other.start for one, other in pairwise(way))


def test_a_gap_is_named() -> None:
    """What happened in it is not known, so nothing after it can be restored from before."""
    listed = [*slices(10, 20, 30), *slices(40, 50)]
    with pytest.raises(
        GapError, match=r"between 1970-01-01T00:00:30Z \(30:1\) and 1970-01-01T00:00:40Z \(40:1\) is not"
    ):
        chain(listed, at(12), at(45))
    assert chain(listed, at(12), at(30)) == slices(10, 20, 30)
    assert chain(listed, at(41), at(45)) == slices(40, 50)


def test_the_end_of_the_archive_is_named_with_the_latest_possible_moment() -> None:
    """After the loss of the set, as much as possible is wanted, and the message has the text to copy."""
    with pytest.raises(GapError, match=r'oplogLimit "30:2"'):
        chain(slices(10, 20, 30), at(12), at(31))
    assert chain(slices(10, 20, 30), at(12), Position.parse("30:2")) == slices(10, 20, 30)


def test_slices_of_another_history_are_not_mixed_in() -> None:
    """A forced reconfiguration gave entries up; later entries with the same times belong to other data."""
    listed = [*slices(10, 20), *slices(20, 30, term=2)]
    with pytest.raises(GapError):
        chain(listed, at(12), at(25))


def test_the_newest_backup_that_reaches_the_moment_is_chosen() -> None:
    """A newer one is replayed faster; one behind a gap cannot be used."""
    listed = [*slices(10, 20, 30), *slices(40, 50)]
    bases = [Base(str(n), at(n), at(n)) for n in (11, 19, 26, 42)]
    assert choose_base(bases, listed, at(28)).name == "26"
    assert choose_base(bases, listed, at(48)).name == "42"
    assert choose_base(bases, listed, at(24)).name == "19"
    with pytest.raises(GapError, match="26: the oplog between"):
        choose_base(bases[:3], listed, at(45))
    with pytest.raises(GapError, match="no backup"):
        choose_base(bases, listed, at(5))
    late = Base("late", at(19), at(25))
    assert choose_base([bases[0], late], listed, at(24)).name == "11"


def test_slices_are_kept_as_long_as_a_backup_needs_them() -> None:
    """Without any backup nothing is deleted: the status of backups may only be missing."""
    listed = slices(10, 20, 30, 40)
    assert useless(listed, [at(25), at(35)]) == slices(10, 20)
    assert useless(listed, []) == []


def test_a_changed_slice_is_rejected(tmp_path: Path) -> None:
    """Its name has the checksum of its content."""
    file = tmp_path / "file"
    file.write_bytes(b"content")
    Slice(at(1), at(2), checksum(file)).check(file)
    with pytest.raises(DamagedError, match="was changed"):
        Slice(at(1), at(2), SUM).check(file)


def test_a_time_is_the_position_before_all_its_writes() -> None:
    """As mongorestore reads it: the limit is excluded."""
    assert Position.at(datetime.fromtimestamp(100.9, UTC)) == Position(100, 0)
    assert Position.parse("100") == Position.parse("100:0") == Position(100, 0)
