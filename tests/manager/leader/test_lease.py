"""Leadership by a lease: who may write, and when another process may take over."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.manager.leader.lease import Candidate, Create, Follow, LeaseRecord, LeaseTiming, Take

WALL = datetime(2030, 1, 1, tzinfo=UTC)


def leading(name: str = "me", at: float = 0.0) -> Candidate:
    """Return a candidate that has just acquired a fresh lease."""
    candidate = Candidate(name)
    move = candidate.move(at, WALL)
    assert isinstance(move, Create)
    candidate.wrote(move.record, asked_at=at)
    return candidate


def test_the_first_creates_the_lease_and_leads() -> None:
    """An empty cluster has a leader at once."""
    candidate = leading()
    assert candidate.leads(9.9)
    assert candidate.leader == "me"


def test_leadership_ends_at_the_renew_deadline_by_itself() -> None:
    """A leader that cannot renew stops writing before another process may begin."""
    candidate = leading()
    assert not candidate.leads(10.0)
    assert candidate.timing.renew_deadline < candidate.timing.lease


def test_leadership_counts_from_the_request_not_from_the_answer() -> None:
    """A renewal whose answer took 6 seconds is already 6 seconds old."""
    candidate = leading()
    move = candidate.move(2.0, WALL)
    assert isinstance(move, Take)
    candidate.wrote(move.record, asked_at=2.0)
    assert candidate.leads(11.9)
    assert not candidate.leads(12.0)


def test_renewing_keeps_the_acquire_time_and_the_transitions() -> None:
    """Dashboards show since when a process leads."""
    candidate = leading()
    move = candidate.move(2.0, WALL + timedelta(seconds=2))
    assert isinstance(move, Take)
    assert move.record.acquired == WALL
    assert move.record.renewed == WALL + timedelta(seconds=2)
    assert move.record.transitions == 0


def test_a_candidate_waits_for_the_lease_duration_after_the_last_observed_change() -> None:
    """Clocks of other machines are never compared."""
    record = LeaseRecord("other", 15, WALL - timedelta(days=365), WALL - timedelta(days=365), 4)
    candidate = Candidate("me")
    candidate.saw(record, 100.0)
    assert candidate.move(100.0, WALL) == Follow(15.0, "other")
    candidate.saw(record, 114.0)
    assert candidate.move(114.0, WALL) == Follow(1.0, "other")
    taken = candidate.move(115.0, WALL)
    assert isinstance(taken, Take)
    assert (taken.record.holder, taken.record.transitions) == ("me", 5)


def test_a_change_of_the_lease_begins_a_new_wait() -> None:
    """A leader that renews is never replaced."""
    candidate = Candidate("me")
    candidate.saw(LeaseRecord("other", 15, WALL, WALL, 0), 0.0)
    candidate.saw(LeaseRecord("other", 15, WALL, WALL + timedelta(seconds=1), 0), 14.0)
    assert candidate.move(16.0, WALL) == Follow(13.0, "other")


def test_a_released_lease_is_acquired_at_once() -> None:
    """A rolling update does not wait for a timeout."""
    leader = leading("old")
    released = leader.release(WALL)
    assert released is not None
    leader.wrote(released, asked_at=3.0)
    assert not leader.leads(3.0)
    follower = Candidate("new")
    follower.saw(released, 3.0)
    move = follower.move(3.0, WALL)
    assert isinstance(move, Take)
    assert move.record.transitions == 1


def test_losing_the_lease_to_another_ends_leadership_at_once() -> None:
    """An administrator may hand over by editing the lease."""
    candidate = leading()
    candidate.saw(LeaseRecord("other", 15, WALL, WALL, 1), 1.0)
    assert not candidate.leads(1.0)
    assert candidate.release(WALL) is None


def test_a_deleted_lease_ends_leadership() -> None:
    """A process that cannot read the lease cannot know that it leads."""
    candidate = leading()
    candidate.saw(None, 1.0)
    assert not candidate.leads(1.0)
    assert isinstance(candidate.move(1.0, WALL), Create)


@pytest.mark.parametrize("wrong", [{"lease": 10.0}, {"retry": 9.0}, {"retry": 0.0}])
def test_timings_that_could_allow_two_leaders_are_rejected(wrong: dict[str, float]) -> None:
    """Impossible settings fail at construction, not in production."""
    with pytest.raises(ValueError, match="renew_deadline"):
        LeaseTiming(**wrong)


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.floats(0.1, 6.0), st.sampled_from(["look", "write", "lost", "pause"])),
        max_size=60,
    )
)
def test_two_candidates_never_lead_at_once(steps: list[tuple[str, float, str]]) -> None:
    """Whatever is lost, late or paused, two processes never write at once.

    The lease server orders writes by version.
    """
    candidates = {name: Candidate(name) for name in "ab"}
    known = dict.fromkeys("ab", 0)
    lease: LeaseRecord | None = None
    version = 0
    now = 0.0
    for name, seconds, what in steps:
        now += seconds
        candidate = candidates[name]
        if what == "look":
            known[name] = version
            candidate.saw(lease, now)
        elif what in {"write", "lost"}:
            move = candidate.move(now, WALL + timedelta(seconds=now))
            if not isinstance(move, Follow) and known[name] == version:
                lease, version = move.record, version + 1
                if what == "write":
                    known[name] = version
                    candidate.wrote(move.record, asked_at=now)
        assert sum(candidate.leads(now) for candidate in candidates.values()) <= 1
