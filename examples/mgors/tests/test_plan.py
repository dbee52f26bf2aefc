"""The rules of replica sets, without any replica set."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgors.actions import (
    Action,
    Add,
    Force,
    Initiate,
    RaiseCompatibility,
    Remove,
    Rest,
    Restart,
    SetHost,
    SetVotes,
    StepDown,
    Wait,
)
from mgors.configuration import changed, first, forced
from mgors.members import FIRST_ARBITER, Config, ConfigMember, OpTime, Seat, Seen, State
from mgors.plan import DATA_LOST, FOREIGN_DATA, QUORUM_LOST, Situation, decide, pods_needed, votes_of


def host(number: int) -> str:
    """Give the address of a member."""
    return f"10.0.0.{number}:27017"


def config(*numbers: int, version: int = 5, term: int = 3, set_id: str = "a") -> Config:
    """Give a configuration of these members."""
    members = tuple(
        ConfigMember(number=number, host=host(number), is_arbiter=number >= FIRST_ARBITER) for number in numbers
    )
    return Config(version=version, term=term, members=members, set_id=set_id)


def seat(number: int, state: State | None = None, known: Config | None = None, **fields: Any) -> Seat:
    """Give a place and what its member says."""
    seen = None
    if state is not None:
        votes = known.votes if known else 0
        seen = Seen(
            state=state, config=known, voting=votes, optime=OpTime(3, 100), version="6.0.5", compatibility="6.0"
        )
    is_arbiter = number >= FIRST_ARBITER
    return Seat(number=number, pod=f"m-{number}", host=host(number), is_arbiter=is_arbiter, seen=seen, **fields)


def healthy(count: int = 3, **fields: Any) -> tuple[Seat, ...]:
    """Give a set in which all is well; the first member is its primary."""
    known = config(*range(count))
    states = [State.PRIMARY, *[State.SECONDARY] * (count - 1)]
    return tuple(seat(number, state, known, **fields) for number, state in enumerate(states))


def said(action: Action) -> str:
    """Give the reason of a wait."""
    return action.reason if isinstance(action, Wait) else type(action).__name__


# Beginning.


def test_a_set_begins_with_its_first_member_alone() -> None:
    """The others are added, one by one: a set of three that begins at once can begin twice."""
    seats = tuple(seat(number, State.UNINITIALIZED) for number in range(3))
    assert decide(Situation(seats=seats)) == Initiate(seats[0])


@pytest.mark.parametrize("silent", [0, 1, 2])
def test_nothing_begins_while_somebody_is_silent(silent: int) -> None:
    """Whoever does not answer may be the one that has the data."""
    seats = tuple(seat(number, None if number == silent else State.UNINITIALIZED) for number in range(3))
    assert said(decide(Situation(seats=seats))) == "PodsStarting"


def test_nothing_begins_beside_a_member_that_knows_a_set() -> None:
    """It has what the others lost."""
    seats = (seat(0, State.UNINITIALIZED), seat(1, State.SECONDARY, config(0, 1, 2)), seat(2, State.UNINITIALIZED))
    assert said(decide(Situation(seats=seats))) == QUORUM_LOST


def test_a_set_that_lost_everything_does_not_begin_by_itself() -> None:
    """An empty database that looks well is worse than one that says what is missing."""
    seats = tuple(seat(number, State.UNINITIALIZED) for number in range(3))
    lost = Situation(seats=seats, was_initiated=True)
    assert said(decide(lost)) == DATA_LOST
    assert decide(replace(lost, may_begin_anew=True)) == Initiate(seats[0])


# Membership.


def test_members_are_added_one_by_one_lowest_first() -> None:
    """Two at once may have no majority in common."""
    known = config(0)
    seats = (seat(0, State.PRIMARY, known), seat(1, State.UNINITIALIZED), seat(2, State.UNINITIALIZED))
    assert decide(Situation(seats=seats)) == Add(seats[1], 1)


def test_nothing_changes_while_a_vote_does_not_count_yet() -> None:
    """A member that was just added is SECONDARY before it may vote; only the number of voters tells."""
    known = config(0, 1)
    primary = seat(0, State.PRIMARY, known)
    assert primary.seen is not None
    early = replace(primary, seen=replace(primary.seen, voting=1))
    seats = (early, seat(1, State.SECONDARY, known), seat(2, State.UNINITIALIZED))
    assert said(decide(Situation(seats=seats))) == "MembershipChanging"
    uncommitted = replace(primary, seen=replace(primary.seen, is_committed=False))
    assert said(decide(Situation(seats=(uncommitted, *seats[1:])))) == "MembershipChanging"


def test_a_member_with_data_of_another_set_is_not_taken() -> None:
    """Joining would throw its data away."""
    other = config(2, set_id="b")
    seats = (*healthy(2), seat(2, State.REMOVED, other))
    assert said(decide(Situation(seats=seats))) == FOREIGN_DATA


def test_a_member_that_was_removed_by_hand_joins_again() -> None:
    """The object says who belongs to it."""
    known = config(0, 1)
    seats = (*healthy(2), seat(2, State.REMOVED, known))
    assert decide(Situation(seats=seats)) == Add(seats[2], 1)


def test_the_highest_number_leaves_first_and_its_pod_after_it() -> None:
    """A StatefulSet takes pods away from the end, and one that still votes must not be among them."""
    seats = tuple(replace(one, is_wanted=one.number < 1) for one in healthy(3))
    situation = Situation(seats=seats)
    assert decide(situation) == Remove(2, host(2))
    assert pods_needed(situation, members=1, running=3) == 3
    after = Situation(seats=(seat(0, State.PRIMARY, config(0)),))
    assert pods_needed(after, members=1, running=3) == 1


def test_a_primary_hands_over_before_it_leaves() -> None:
    """A primary cannot remove itself."""
    known = config(0, 1)
    seats = (seat(0, State.SECONDARY, known), seat(1, State.PRIMARY, known, is_wanted=False))
    action = decide(Situation(seats=seats))
    assert isinstance(action, StepDown)
    assert action.seat.number == 1


def test_a_member_elsewhere_is_found_there() -> None:
    """Addresses of pods change."""
    seats = list(healthy())
    seats[1] = replace(seats[1], host="10.0.0.77:27017")
    assert decide(Situation(seats=tuple(seats))) == SetHost(seats[1])


def test_members_that_swapped_addresses_make_room() -> None:
    """No address may be listed twice, not even for a moment."""
    seats = list(healthy())
    seats[1], seats[2] = replace(seats[1], host=host(2)), replace(seats[2], host=host(1))
    assert decide(Situation(seats=tuple(seats))) == Remove(1, host(1))


@pytest.mark.parametrize(("members", "arbiters", "voters"), [(3, 0, 3), (7, 0, 7), (8, 0, 7), (8, 1, 6), (50, 0, 7)])
def test_seven_vote_at_most(members: int, arbiters: int, voters: int) -> None:
    """An eighth is refused."""
    seats = tuple(seat(number) for number in [*range(members), *range(FIRST_ARBITER, FIRST_ARBITER + arbiters)])
    assert sum(votes_of(one, seats) for one in seats if not one.is_arbiter) == voters


def test_a_vote_is_given_up_before_an_arbiter_takes_it() -> None:
    """Seven members and an arbiter would be eight votes."""
    seats = (*healthy(7), seat(FIRST_ARBITER, State.UNINITIALIZED))
    assert decide(Situation(seats=seats)) == SetVotes(6, 0)


def test_who_never_got_its_vote_can_still_leave() -> None:
    """A member that was added and then lost must not keep the set from being made smaller again."""
    known = config(0, 1)
    primary = seat(0, State.PRIMARY, known)
    assert primary.seen is not None
    waiting = replace(primary, seen=replace(primary.seen, voting=1))
    assert decide(Situation(seats=(waiting, seat(1, is_wanted=False)))) == Remove(1, host(1))
    assert said(decide(Situation(seats=(waiting, seat(1))))) == "MembershipChanging"


# Disasters.


def test_a_majority_elects_by_itself() -> None:
    """Nobody has to help."""
    known = config(0, 1, 2)
    seats = (seat(0), seat(1, State.SECONDARY, known), seat(2, State.SECONDARY, known))
    assert said(decide(Situation(seats=seats, may_force=True, quorum_lost_for=1e6))) == "Electing"


def lost_quorum(**fields: Any) -> Situation:
    """Give a set of five with two left, of which the second has newer data."""
    known = config(0, 1, 2, 3, 4)
    left = [seat(1, State.SECONDARY, known), seat(3, State.SECONDARY, known)]
    assert left[1].seen is not None
    left[1] = replace(left[1], seen=replace(left[1].seen, optime=OpTime(4, 1)))
    return Situation(seats=(seat(0), left[0], seat(2), left[1], seat(4)), **fields)


def test_a_lost_majority_is_waited_for() -> None:
    """Unless the object allows more, and even then for a while."""
    assert said(decide(lost_quorum(quorum_lost_for=1e6))) == QUORUM_LOST
    assert said(decide(lost_quorum(may_force=True, quorum_lost_for=59))) == QUORUM_LOST


def test_force_goes_to_the_newest_data() -> None:
    """A later term wins over a later clock: what only the other has was never acknowledged by a majority."""
    action = decide(lost_quorum(may_force=True, quorum_lost_for=60))
    assert isinstance(action, Force)
    assert action.seat.number == 3
    assert [one.number for one in action.keep] == [3, 1]


def test_a_primary_that_does_not_know_yet_is_none() -> None:
    """After a network was cut, two may say that they are the primary: the later term counts."""
    known = config(0, 1, 2)
    old, new = seat(0, State.PRIMARY, known), seat(1, State.PRIMARY, known)
    assert new.seen is not None
    new = replace(new, seen=replace(new.seen, optime=OpTime(4, 0)))
    assert Situation(seats=(old, new, seat(2))).primary == new


# Updates.


def test_pods_are_replaced_one_by_one_with_the_primary_last() -> None:
    """Each failover costs clients a moment: one is enough."""
    seats = tuple(replace(one, is_stale=True) for one in healthy())
    assert decide(Situation(seats=seats)) == Restart(seats[2])
    only = (replace(seats[0]), *(replace(one, is_stale=False) for one in seats[1:]))
    action = decide(Situation(seats=only))
    assert isinstance(action, StepDown)
    single = (replace(healthy(1)[0], is_stale=True),)
    assert decide(Situation(seats=single)) == Restart(single[0])


def test_no_pod_is_replaced_while_another_is_away_or_a_backup_runs() -> None:
    """Two of three away at the same time is no majority."""
    seats = tuple(replace(one, is_stale=True) for one in healthy())
    known = config(0, 1, 2)
    assert said(decide(Situation(seats=seats, is_busy=True))) == "BackupRunning"
    fresh = seat(1, State.STARTUP2, known)
    assert said(decide(Situation(seats=(seats[0], fresh, seats[2])))) == "MembersNotReady"


def test_a_pod_that_does_not_work_is_replaced_first() -> None:
    """An image that cannot be pulled must not keep its correction out."""
    seats = list(healthy())
    seats[1] = replace(seats[1], seen=None, is_stale=True)
    assert decide(Situation(seats=tuple(seats))) == Restart(seats[1])


def test_an_image_that_was_corrected_gets_its_turn() -> None:
    """Whether the set has begun or not: pods that do not answer and are of yesterday stand in its way."""
    wrong = seat(1, is_stale=True)
    assert decide(Situation(seats=(seat(0, State.UNINITIALIZED), wrong))) == Restart(wrong)
    assert decide(Situation(seats=(*healthy(1), wrong))) == Restart(wrong)
    known = config(0, 1)
    assert decide(Situation(seats=(seat(0, State.SECONDARY, known), wrong))) == Restart(wrong)


def test_features_are_raised_when_all_have_the_version() -> None:
    """Before that, an older member could not read what a newer one writes."""
    seats = list(healthy())
    assert seats[0].seen is not None
    seats[0] = replace(seats[0], seen=replace(seats[0].seen, compatibility="5.0"))
    assert decide(Situation(seats=tuple(seats))) == RaiseCompatibility(seats[0], "6.0")
    assert seats[1].seen is not None
    seats[1] = replace(seats[1], seen=replace(seats[1].seen, version="5.0.4"))
    assert decide(Situation(seats=tuple(seats))) == Rest()


# Laws, for everything that can be seen.

configs = st.builds(
    lambda numbers, version, term, set_id: config(*sorted(numbers), version=version, term=term, set_id=set_id),
    st.sets(st.integers(0, 5), min_size=1),
    st.integers(1, 5),
    st.integers(-1, 3),
    st.sampled_from(["a", "b"]),
)
seens = st.builds(
    lambda state, known, optime, voting, committed: Seen(
        state=state,
        config=None if state is State.UNINITIALIZED else known,
        optime=optime,
        voting=voting,
        is_committed=committed,
        version="6.0.5",
        compatibility="6.0",
    ),
    st.sampled_from(State),
    configs,
    st.builds(OpTime, st.integers(-1, 3), st.integers(0, 3)),
    st.integers(0, 6),
    st.booleans(),
)
situations = st.builds(
    lambda found, paused, begun, busy, anew, force, lost: Situation(
        seats=tuple(
            Seat(number=number, pod=f"m-{number}", host=host(number), is_wanted=wanted, is_stale=stale, seen=seen)
            for number, (wanted, stale, seen) in enumerate(found)
        ),
        is_paused=paused,
        was_initiated=begun,
        is_busy=busy,
        may_begin_anew=anew,
        may_force=force,
        quorum_lost_for=lost,
    ),
    st.lists(st.tuples(st.booleans(), st.booleans(), st.none() | seens), max_size=5),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 59.0, 60.0]),
)


@settings(max_examples=200, deadline=None)
@given(situations)
def test_laws_hold_whatever_is_seen(situation: Situation) -> None:
    """Never begin beside a configuration, never force unless allowed and on the newest, never change without votes."""
    action = decide(situation)
    known = [one for one in situation.seats if one.config is not None]
    match action:
        case Initiate():
            assert known == []
            assert all(one.seen is not None for one in situation.seats)
            assert situation.may_begin_anew or not situation.was_initiated
        case Force(chosen, keep):
            assert situation.may_force
            assert situation.quorum_lost_for >= situation.patience
            assert situation.primary is None
            assert chosen.seen is not None
            assert all(one.seen is None or one.seen.optime <= chosen.seen.optime for one in known)
            assert keep[0] == chosen
        case Restart(chosen) if chosen.seen is None:
            assert chosen.is_stale
        case Remove(number) if any(one.number == number and one.seen is None for one in situation.seats):
            assert situation.primary is not None
        case SetHost() | Add() | Remove() | SetVotes() | StepDown() | Restart():
            primary = situation.primary
            assert primary is not None
            assert primary.seen is not None
            assert primary.config is not None
            assert primary.seen.voting == primary.config.votes
            assert primary.seen.is_committed
        case _:
            assert isinstance(action, (Rest, Wait, RaiseCompatibility))


@settings(max_examples=100, deadline=None)
@given(situations)
def test_a_change_is_one_member_and_one_version(situation: Situation) -> None:
    """Two configurations that follow each other differ by one member: any two majorities have one in common."""
    action = decide(situation)
    if isinstance(action, (SetHost, Add, Remove, SetVotes)) and situation.config is not None:
        before = situation.config
        document = {
            "version": before.version,
            "members": [{"_id": one.number, "host": one.host, "votes": one.votes} for one in before.members],
        }
        after = Config.read(changed(document, action))
        difference = set(after.members) ^ set(before.members)
        assert len({one.number for one in difference}) == 1
        assert after.version == before.version + 1


@settings(max_examples=100, deadline=None)
@given(situations)
def test_no_pod_goes_that_belongs_to_the_set(situation: Situation) -> None:
    """Whatever is asked for: first the configuration, then the pod."""
    running = len(situation.seats)
    needed = pods_needed(situation, members=1, running=running)
    if situation.is_paused:
        assert needed == 0
    elif situation.config is None:
        assert needed >= running
    else:
        assert all(one.number < needed for one in situation.config.members if one.number < running)


# Documents.


def test_a_first_configuration_has_one_member() -> None:
    """And the settings that the operator was given."""
    assert first(Initiate(seat(0)), "shop", {"electionTimeoutMillis": 1500}) == {
        "_id": "shop",
        "version": 1,
        "members": [{"_id": 0, "host": host(0), "votes": 1, "priority": 1}],
        "settings": {"electionTimeoutMillis": 1500},
    }


def test_a_forced_configuration_has_those_who_are_left() -> None:
    """Where they are now, and an arbiter stays one."""
    document = {"_id": "shop", "version": 9, "members": [], "settings": {"replicaSetId": "a"}}
    written = forced(document, Force(seat(2), (seat(2), seat(FIRST_ARBITER))))
    assert [member["_id"] for member in written["members"]] == [2, FIRST_ARBITER]
    assert written["members"][1]["arbiterOnly"]
    assert written["settings"] == {"replicaSetId": "a"}


def test_a_forced_configuration_is_newer_than_any_with_a_term() -> None:
    """It has no term; only versions can be compared then."""
    assert config(0, version=100_000, term=-1).is_newer_than(config(0, version=9, term=7))
    assert config(0, version=1, term=8).is_newer_than(config(0, version=9, term=7))
