"""Decisions about replica sets, without any database."""

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
    NoAction,
    RaiseCompatibility,
    Remove,
    Restart,
    SetHost,
    SetVotes,
    StepDown,
    Wait,
)
from mgors.configuration import changed, first, forced
from mgors.consent import Consent, InvalidConsent
from mgors.forcing import QUORUM_LOST
from mgors.members import (
    FIRST_ARBITER,
    Answered,
    Config,
    ConfigMember,
    Gone,
    Lineage,
    NotAuthorised,
    OpTime,
    Peer,
    Reachability,
    Refused,
    Slot,
    State,
    TimedOut,
    View,
)
from mgors.plan import DATA_LOST, DIVERGED_DATA, FOREIGN_DATA, decide, pods_needed, votes_of
from mgors.situation import Situation


def host(number: int) -> str:
    """Return the address of a member."""
    return f"10.0.0.{number}:27017"


def config(*numbers: int, version: int = 5, term: int = 3, set_id: str = "a") -> Config:
    """Return a configuration of these members."""
    members = tuple(
        ConfigMember(number=number, host=host(number), is_arbiter=number >= FIRST_ARBITER) for number in numbers
    )
    return Config(version=version, term=term, members=members, set_id=set_id)


def slot(number: int, state: State | None = None, known: Config | None = None, **fields: Any) -> Slot:
    """Return a slot with the report of its member."""
    reach: Reachability = Refused()
    if state is not None:
        votes = known.votes if known else 0
        view = View(state=state, config=known, voting=votes, optime=OpTime(3, 100), term=3)
        reach = Answered(replace(view, version="6.0.5", compatibility="6.0"))
    about = {"number": number, "pod": f"m-{number}", "host": host(number), "is_arbiter": number >= FIRST_ARBITER}
    return Slot(**{**about, "reach": reach, "is_ready": state is not None, **fields})


def saying(slot: Slot, **changes: Any) -> Slot:
    """Return a slot with another report of its member."""
    assert slot.view is not None
    return replace(slot, reach=Answered(replace(slot.view, **changes)))


def healthy(count: int = 3, **fields: Any) -> tuple[Slot, ...]:
    """Return the slots of a healthy set; the first member is the primary."""
    known = config(*range(count))
    states = [State.PRIMARY, *[State.SECONDARY] * (count - 1)]
    return tuple(slot(number, state, known, **fields) for number, state in enumerate(states))


def said(action: Action) -> str:
    """Return the reason of a wait."""
    return action.reason if isinstance(action, Wait) else type(action).__name__


# Beginning.


def test_a_set_is_initiated_with_its_first_member_alone() -> None:
    """The others are added one by one: a set that is initiated with three members can be initiated twice."""
    slots = tuple(slot(number, State.UNINITIALIZED) for number in range(3))
    assert decide(Situation(slots=slots)) == Initiate(slots[0])


@pytest.mark.parametrize("silent", [0, 1, 2])
def test_no_set_is_initiated_while_a_member_does_not_respond(silent: int) -> None:
    """The member that does not respond may have the data."""
    slots = tuple(slot(number, None if number == silent else State.UNINITIALIZED) for number in range(3))
    assert said(decide(Situation(slots=slots))) == "PodsStarting"


def test_no_set_is_initiated_next_to_a_member_with_a_configuration() -> None:
    """It has the data that the others lost."""
    slots = (slot(0, State.UNINITIALIZED), slot(1, State.SECONDARY, config(0, 1, 2)), slot(2, State.UNINITIALIZED))
    assert said(decide(Situation(slots=slots))) == QUORUM_LOST


def test_a_set_that_lost_all_data_is_not_initiated_again() -> None:
    """An empty database that looks healthy is worse than one that reports the loss."""
    slots = tuple(slot(number, State.UNINITIALIZED) for number in range(3))
    lost = Situation(slots=slots, was_initiated=True)
    assert said(decide(lost)) == DATA_LOST
    assert decide(replace(lost, may_start_empty=True)) == Initiate(slots[0])


# Membership.


def test_members_are_added_one_by_one_lowest_first() -> None:
    """Configurations that differ by two members may have no majority in common."""
    known = config(0)
    slots = (slot(0, State.PRIMARY, known), slot(1, State.UNINITIALIZED), slot(2, State.UNINITIALIZED))
    assert decide(Situation(slots=slots)) == Add(slots[1], 1)


def test_nothing_changes_while_a_vote_does_not_count_yet() -> None:
    """A new member is SECONDARY before it may vote; only the number of voters shows it."""
    known = config(0, 1)
    primary = slot(0, State.PRIMARY, known)
    early = saying(primary, voting=1)
    slots = (early, slot(1, State.SECONDARY, known), slot(2, State.UNINITIALIZED))
    assert said(decide(Situation(slots=slots))) == "MembershipChanging"
    uncommitted = saying(primary, is_committed=False)
    assert said(decide(Situation(slots=(uncommitted, *slots[1:])))) == "MembershipChanging"


def test_a_member_with_data_of_another_set_is_not_added() -> None:
    """Its data would be lost."""
    other = config(2, set_id="b")
    slots = (*healthy(2), slot(2, State.REMOVED, other))
    assert said(decide(Situation(slots=slots))) == FOREIGN_DATA


def test_a_member_that_was_removed_by_hand_joins_again() -> None:
    """The spec decides which members there are."""
    known = config(0, 1)
    slots = (*healthy(2), slot(2, State.REMOVED, known, lineage=Lineage.CONTAINED))
    assert decide(Situation(slots=slots)) == Add(slots[2], 0)


def test_the_highest_number_is_removed_first_and_its_pod_after_it() -> None:
    """A StatefulSet removes the last pod, which must not belong to a voting member."""
    slots = tuple(replace(one, is_wanted=one.number < 1) for one in healthy(3))
    situation = Situation(slots=slots)
    assert decide(situation) == Remove(2, host(2))
    assert pods_needed(situation, members=1, running=3) == 3
    after = Situation(slots=(slot(0, State.PRIMARY, config(0)),))
    assert pods_needed(after, members=1, running=3) == 1


def test_a_primary_steps_down_before_it_is_removed() -> None:
    """A primary cannot remove itself."""
    known = config(0, 1)
    slots = (slot(0, State.SECONDARY, known), slot(1, State.PRIMARY, known, is_wanted=False))
    action = decide(Situation(slots=slots))
    assert isinstance(action, StepDown)
    assert action.slot.number == 1


def test_the_host_of_a_member_is_corrected() -> None:
    """IPs of pods change."""
    slots = list(healthy())
    slots[1] = replace(slots[1], host="10.0.0.77:27017")
    assert decide(Situation(slots=tuple(slots))) == SetHost(slots[1])


def test_members_that_swapped_addresses_leave_and_join_again() -> None:
    """A configuration may not contain an address twice."""
    slots = list(healthy())
    slots[1], slots[2] = replace(slots[1], host=host(2)), replace(slots[2], host=host(1))
    assert decide(Situation(slots=tuple(slots))) == Remove(1, host(1))


@pytest.mark.parametrize(("members", "arbiters", "voters"), [(3, 0, 3), (7, 0, 7), (8, 0, 7), (8, 1, 6), (50, 0, 7)])
def test_at_most_seven_members_vote(members: int, arbiters: int, voters: int) -> None:
    """MongoDB rejects an eighth vote."""
    slots = tuple(slot(number) for number in [*range(members), *range(FIRST_ARBITER, FIRST_ARBITER + arbiters)])
    assert sum(votes_of(one, slots) for one in slots if not one.is_arbiter) == voters


def test_a_vote_is_removed_before_an_arbiter_gets_it() -> None:
    """Seven members and an arbiter would be eight votes."""
    slots = (*healthy(7), slot(FIRST_ARBITER, State.UNINITIALIZED))
    assert decide(Situation(slots=slots)) == SetVotes(6, 0)


def test_a_member_that_never_got_its_vote_can_be_removed() -> None:
    """A member that was added and then lost must not block scaling down."""
    known = config(0, 1)
    primary = slot(0, State.PRIMARY, known)
    waiting = saying(primary, voting=1)
    assert decide(Situation(slots=(waiting, slot(1, is_wanted=False)))) == Remove(1, host(1))
    assert said(decide(Situation(slots=(waiting, slot(1))))) == "MembersUnreachable"


# Disasters.


def test_a_majority_elects_without_help() -> None:
    """The operator has nothing to do."""
    known = config(0, 1, 2)
    slots = (slot(0), slot(1, State.SECONDARY, known), slot(2, State.SECONDARY, known))
    situation = Situation(slots=slots, may_force=True, consent=CONSENT, quorum_lost_for=1e6)
    assert said(decide(situation)) == "Electing"


CONSENT = Consent(digest="a", without=frozenset({"m-0", "m-2", "m-4"}))


def lost_quorum(**fields: Any) -> Situation:
    """Return a set of five with two left, the second with newer data; a force is allowed."""
    known = config(0, 1, 2, 3, 4)
    down = tuple(Peer(number=number, state=State.DOWN, is_up=False) for number in (0, 2, 4))
    left = [saying(slot(number, State.SECONDARY, known), peers=down) for number in (1, 3)]
    left[1] = saying(left[1], optime=OpTime(4, 1), term=4)
    left[0] = saying(left[0], term=4)
    met: dict[str, Any] = {"may_force": True, "consent": CONSENT, "quorum_lost_for": 60}
    return Situation(slots=(slot(0), left[0], slot(2), left[1], slot(4)), **{**met, **fields})


def test_the_newest_data_is_kept_by_a_force() -> None:
    """A later term wins over a later time: a majority never acknowledged what only the other one has."""
    action = decide(lost_quorum())
    assert isinstance(action, Force)
    assert action.slot.number == 3
    assert [one.number for one in action.keep] == [3, 1]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"may_force": False}, "unsafe.forceReconfigOnLostQuorum"),
        ({"consent": None}, "annotate this object once"),
        ({"consent": InvalidConsent("expires: over")}, "is invalid: expires: over"),
        ({"consent": replace(CONSENT, without=frozenset({"m-0", "m-2"}))}, "does not name m-4"),
        ({"spent_at": (4, 3)}, "was used already"),
        ({"quorum_lost_for": 59}, "60 s to return"),
    ],
)
def test_a_force_needs_a_consent_to_this_situation(fields: dict[str, Any], message: str) -> None:
    """Once, for the members that a person has named, and after a while."""
    action = decide(lost_quorum(**fields))
    assert isinstance(action, Wait)
    assert action.reason == QUORUM_LOST
    assert message in action.message


def test_a_force_that_was_interrupted_can_be_completed() -> None:
    """The operator may crash between recording the consent and using it: the configuration is unchanged then."""
    assert isinstance(decide(lost_quorum(spent_at=(5, 3))), Force)


@pytest.mark.parametrize(
    ("number", "fields", "message"),
    [
        (0, {"is_ready": True, "reach": TimedOut()}, "m-0 does not respond in time although its pod is Ready"),
        (2, {"is_ready": True, "reach": Gone()}, "although its pod is Ready"),
    ],
)
def test_nothing_is_forced_while_the_pod_of_a_missing_member_is_ready(
    number: int, fields: dict[str, Any], message: str
) -> None:
    """The operator may be the one that is cut off, together with the members that it reaches."""
    situation = lost_quorum()
    slots = tuple(replace(one, **fields) if one.number == number else one for one in situation.slots)
    action = decide(replace(situation, slots=slots))
    assert isinstance(action, Wait)
    assert message in action.message


def test_nothing_is_forced_while_a_member_reaches_a_missing_one() -> None:
    """Another member may reach what the operator does not."""
    situation = lost_quorum()
    hears = (Peer(number=0, state=State.SECONDARY), Peer(number=2, state=State.DOWN, is_up=False))
    slots = list(situation.slots)
    slots[1] = saying(slots[1], peers=hears)
    action = decide(replace(situation, slots=tuple(slots)))
    assert isinstance(action, Wait)
    assert "m-0 responds to m-1, only not to the operator" in action.message


def test_a_primary_that_only_members_reach_is_respected() -> None:
    """The set works, and clients write to it: it must be left alone even with consent."""
    situation = lost_quorum()
    slots = list(situation.slots)
    slots[1] = saying(slots[1], peers=(Peer(number=4, state=State.PRIMARY, term=5),))
    hidden = replace(situation, slots=tuple(slots))
    action = decide(hidden)
    assert isinstance(action, Wait)
    assert action.reason == "PrimaryUnreachable"
    assert "m-1 sees m-4 as primary" in action.message


def test_data_of_an_older_term_needs_a_consent_with_that_term() -> None:
    """A member that knows a newer term voted for a primary whose writes no remaining member has."""
    situation = lost_quorum()
    slots = list(situation.slots)
    slots[1] = saying(slots[1], term=7)
    newer = replace(situation, slots=tuple(slots))
    action = decide(newer)
    assert isinstance(action, Wait)
    assert '"term": 7' in action.message
    assert isinstance(decide(replace(newer, consent=replace(CONSENT, term=7))), Force)


def test_a_member_that_lost_its_disk_does_not_prevent_a_force() -> None:
    """It responds, but has no data."""
    situation = lost_quorum()
    slots = (slot(0, State.UNINITIALIZED), *situation.slots[1:])
    assert isinstance(decide(replace(situation, slots=slots)), Force)


def test_a_member_that_rejects_the_keyfile_is_alive() -> None:
    """It is reported, and neither given up nor replaced."""
    slots = (*healthy(2), slot(2, reach=NotAuthorised(), is_stale=True))
    assert said(decide(Situation(slots=slots))) == "NotAuthorised"
    situation = lost_quorum()
    slots = (replace(situation.slots[0], reach=NotAuthorised()), *situation.slots[1:])
    assert said(decide(replace(situation, slots=slots))) == "NotAuthorised"


def test_nothing_changes_while_two_members_are_primary() -> None:
    """One of them was replaced and does not know it yet; a change could be sent to the wrong one."""
    known = config(0, 1, 2)
    slots = (slot(0, State.PRIMARY, known), slot(1, State.PRIMARY, known), slot(2, State.UNINITIALIZED))
    assert said(decide(Situation(slots=slots))) == "SeveralPrimaries"


# Members that return.


def returning(lineage: Lineage | None) -> Slot:
    """Return a member that is no longer in the configuration and has data of this set."""
    return replace(slot(2, State.REMOVED, config(0, 1, 2, version=2)), lineage=lineage)


def test_a_member_that_returns_joins_without_a_vote() -> None:
    """It is SECONDARY for a moment before it finds that it cannot follow; its vote would then be missing."""
    one = returning(Lineage.CONTAINED)
    assert decide(Situation(slots=(*healthy(2), one))) == Add(one, 0)


def test_a_member_gets_its_vote_when_it_has_caught_up() -> None:
    """It can only have an entry of the primary's term from the primary."""
    known = replace(config(0, 1, 2), members=(*config(0, 1).members, ConfigMember(number=2, host=host(2), votes=0)))
    primary, second = slot(0, State.PRIMARY, known), slot(1, State.SECONDARY, known)
    behind = saying(slot(2, State.SECONDARY, known), optime=OpTime(2, 999))
    assert said(decide(Situation(slots=(primary, second, behind)))) == "VotesPending"
    assert said(decide(Situation(slots=(primary, second, slot(2, State.RECOVERING, known))))) == "VotesPending"
    assert decide(Situation(slots=(primary, second, slot(2, State.SECONDARY, known)))) == SetVotes(2, 1)


def test_a_member_with_diverged_writes_is_not_added() -> None:
    """It would crash while it rolls them back (fassert 51121), and its vote would be missing."""
    action = decide(Situation(slots=(*healthy(2), returning(Lineage.DIVERGED))))
    assert isinstance(action, Wait)
    assert action.reason == DIVERGED_DATA
    assert "data-m-2" in action.message


def test_a_diverged_member_does_not_block_others() -> None:
    """Two missing members are worse than one."""
    diverged, empty = replace(returning(Lineage.DIVERGED), number=1, host=host(1)), slot(2, State.UNINITIALIZED)
    assert decide(Situation(slots=(*healthy(1), diverged, empty))) == Add(empty, 1)


def test_a_member_whose_data_was_not_compared_is_not_added() -> None:
    """The primary may not have responded."""
    assert isinstance(decide(Situation(slots=(*healthy(2), returning(None)))), Wait)


def test_of_two_primaries_the_later_term_counts() -> None:
    """After a partition the old primary may not know yet that it was replaced."""
    known = config(0, 1, 2)
    old, new = slot(0, State.PRIMARY, known), slot(1, State.PRIMARY, known)
    new = saying(new, optime=OpTime(4, 0), term=4)
    assert Situation(slots=(old, new, slot(2))).primary == new


def test_a_primary_that_voters_have_replaced_does_not_count() -> None:
    """Its successor does not respond to the operator, but a member that voted for it does."""
    known = config(0, 1, 2)
    voter = saying(slot(1, State.SECONDARY, known), term=4)
    assert Situation(slots=(slot(0, State.PRIMARY, known), voter, slot(2))).primary is None


def test_members_that_were_given_up_are_ignored() -> None:
    """They may have elected each other in later terms, before the survivor was forced to continue without them."""
    survivor = slot(0, State.PRIMARY, config(0, version=50_000))
    returning = saying(slot(1, State.REMOVED, config(0, 1, 2)), term=9)
    assert Situation(slots=(survivor, returning)).primary == survivor


# Updates.


def test_pods_are_replaced_one_by_one_with_the_primary_last() -> None:
    """Each failover interrupts clients: one is enough."""
    slots = tuple(replace(one, is_stale=True) for one in healthy())
    assert decide(Situation(slots=slots)) == Restart(slots[2])
    only = (replace(slots[0]), *(replace(one, is_stale=False) for one in slots[1:]))
    action = decide(Situation(slots=only))
    assert isinstance(action, StepDown)
    single = (replace(healthy(1)[0], is_stale=True),)
    assert decide(Situation(slots=single)) == Restart(single[0])


def test_no_pod_is_replaced_while_another_is_missing_or_a_backup_runs() -> None:
    """With two of three missing there is no majority."""
    slots = tuple(replace(one, is_stale=True) for one in healthy())
    known = config(0, 1, 2)
    assert said(decide(Situation(slots=slots, is_busy=True))) == "BackupRunning"
    fresh = slot(1, State.STARTUP2, known)
    assert said(decide(Situation(slots=(slots[0], fresh, slots[2])))) == "MembersNotReady"


def test_a_pod_that_does_not_work_is_replaced_first() -> None:
    """An image that cannot be pulled must not block its correction."""
    slots = list(healthy())
    slots[1] = replace(slots[1], reach=Refused(), is_ready=False, is_stale=True)
    assert decide(Situation(slots=tuple(slots))) == Restart(slots[1])


@pytest.mark.parametrize("reach", [Refused(), TimedOut(), NotAuthorised(), Gone()])
def test_a_ready_pod_that_does_not_respond_is_not_replaced(reach: Reachability) -> None:
    """The fault may be the operator's: a wrong port, a wrong keyfile or a broken network affects all pods."""
    slots = tuple(replace(one, reach=reach, is_stale=True) for one in healthy())
    assert isinstance(decide(Situation(slots=slots, was_initiated=True)), Wait)
    assert isinstance(decide(Situation(slots=(*healthy(3)[:2], slots[2]))), Wait)
    assert isinstance(decide(Situation(slots=(healthy(3)[0], *slots[1:]), was_initiated=True)), Wait)


def test_a_corrected_image_is_rolled_out() -> None:
    """Before and after the initiation: outdated pods that do not work would block it."""
    wrong = slot(1, is_stale=True)
    assert decide(Situation(slots=(slot(0, State.UNINITIALIZED), wrong))) == Restart(wrong)
    assert decide(Situation(slots=(*healthy(1), wrong))) == Restart(wrong)
    known = config(0, 1)
    assert decide(Situation(slots=(slot(0, State.SECONDARY, known), wrong))) == Restart(wrong)


def test_features_are_enabled_when_all_members_have_the_version() -> None:
    """Before that, an older member could not read what a newer one writes."""
    slots = list(healthy())
    slots[0] = saying(slots[0], compatibility="5.0")
    assert decide(Situation(slots=tuple(slots))) == RaiseCompatibility(slots[0], "6.0")
    assert decide(Situation(slots=tuple(slots), held_compatibility="5.0")) == NoAction()
    slots[1] = saying(slots[1], version="5.0.4")
    assert decide(Situation(slots=tuple(slots))) == NoAction()


# Laws, foreverything that can be seen.

configs = st.builds(
    lambda numbers, version, term, set_id: config(*sorted(numbers), version=version, term=term, set_id=set_id),
    st.sets(st.integers(0, 5), min_size=1),
    st.integers(1, 5),
    st.integers(-1, 3),
    st.sampled_from(["a", "b"]),
)
peers = st.lists(
    st.builds(
        Peer,
        number=st.integers(0, 5),
        state=st.sampled_from(State),
        is_up=st.booleans(),
        term=st.integers(-1, 3),
    ),
    max_size=4,
)
views = st.builds(
    lambda state, known, optime, term, seen, voting, committed: View(
        state=state,
        config=None if state is State.UNINITIALIZED else known,
        optime=optime,
        term=term,
        peers=tuple(seen),
        voting=voting,
        is_committed=committed,
        version="6.0.5",
        compatibility="6.0",
    ),
    st.sampled_from(State),
    configs,
    st.builds(OpTime, st.integers(-1, 3), st.integers(0, 3)),
    st.integers(-1, 3),
    peers,
    st.integers(0, 6),
    st.booleans(),
)
reaches: st.SearchStrategy[Reachability] = st.one_of(
    st.sampled_from([Refused(), TimedOut(), NotAuthorised(), Gone()]), st.builds(Answered, views)
)
consents = st.none() | st.builds(
    lambda names, term: Consent(digest="a", without=frozenset(f"m-{name}" for name in names), term=term),
    st.sets(st.integers(0, 5), min_size=4),
    st.sampled_from([-1, 3]),
)
situations = st.builds(
    lambda found, paused, begun, busy, empty, consent, lost: Situation(
        slots=tuple(
            Slot(
                number=number,
                pod=f"m-{number}",
                host=host(number),
                is_wanted=wanted,
                is_stale=stale,
                is_ready=ready,
                reach=reach,
                lineage=lineage,
            )
            for number, (wanted, stale, ready, reach, lineage) in enumerate(found)
        ),
        is_paused=paused,
        was_initiated=begun,
        is_busy=busy,
        may_start_empty=empty,
        may_force=True,
        consent=consent,
        quorum_lost_for=lost,
    ),
    st.lists(
        st.tuples(st.booleans(), st.booleans(), st.booleans(), reaches, st.none() | st.sampled_from(Lineage)),
        max_size=5,
    ),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    consents,
    st.sampled_from([0.0, 59.0, 60.0]),
)


@settings(max_examples=500, deadline=None)
@given(situations)
def test_safety_properties_hold_in_every_situation(situation: Situation) -> None:
    """Never initiate next to a configuration, delete a Ready pod, change without votes, or act on two primaries."""
    action = decide(situation)
    known = [one for one in situation.slots if one.config is not None]
    match action:
        case Initiate():
            assert known == []
            assert all(one.view is not None for one in situation.slots)
            assert situation.may_start_empty or not situation.was_initiated
        case Force(chosen, keep):
            assert_force_is_allowed(situation, chosen, keep)
        case Restart(chosen) if chosen.view is None:
            assert chosen.is_stale
            assert not chosen.is_ready
        case Remove(number) if any(one.number == number and one.view is None for one in situation.slots):
            assert situation.primary is not None
        case SetHost() | Add() | Remove() | SetVotes() | StepDown() | Restart():
            assert len(situation.claimants) == 1
            primary = situation.primary
            assert primary is not None
            assert primary.view is not None
            assert primary.config is not None
            assert primary.view.voting == primary.config.votes
            assert primary.view.is_committed
            if isinstance(action, Add) and action.slot.config is not None:
                assert (action.votes, action.slot.lineage) == (0, Lineage.CONTAINED)
        case _:
            assert isinstance(action, (NoAction, Wait, RaiseCompatibility))


def assert_force_is_allowed(situation: Situation, chosen: Slot, keep: tuple[Slot, ...]) -> None:
    """Check a force: consent, the newest data, and no evidence that a given-up member is alive."""
    config = situation.config
    assert isinstance(situation.consent, Consent)
    assert situation.quorum_lost_for >= situation.patience
    assert situation.primary is None
    assert chosen.view is not None
    assert config is not None
    assert keep[0] == chosen
    for _, view in situation.views:
        assert view.config is None or view.optime <= chosen.view.optime
        assert view.newest_term <= max(chosen.view.optime.term, situation.consent.term)
        assert not any(peer.is_up and peer.state is State.PRIMARY for peer in view.peers if peer.number > 4)
    kept = {one.number for one in keep}
    for member in config.members:
        if member.number not in kept:
            assert situation.pod_of(member.number) in situation.consent.without | {"member 5"}
            assert situation.seen_up(member.number) is None


@settings(max_examples=100, deadline=None)
@given(situations)
def test_a_change_is_one_member_and_one_version(situation: Situation) -> None:
    """Consecutive configurations differ by one member, so any two majorities have one in common."""
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
def test_no_pod_of_a_configured_member_is_removed(situation: Situation) -> None:
    """First the configuration changes, then the pod is removed."""
    running = len(situation.slots)
    needed = pods_needed(situation, members=1, running=running)
    if situation.is_paused:
        assert needed == 0
    elif situation.config is None:
        assert needed >= running
    else:
        assert all(one.number < needed for one in situation.config.members if one.number < running)


# Documents.


def test_a_first_configuration_has_one_member() -> None:
    """It also has the settings of the operator."""
    assert first(Initiate(slot(0)), "shop", {"electionTimeoutMillis": 1500}) == {
        "_id": "shop",
        "version": 1,
        "members": [{"_id": 0, "host": host(0), "votes": 1, "priority": 1}],
        "settings": {"electionTimeoutMillis": 1500},
    }


def test_a_forced_configuration_has_the_remaining_members() -> None:
    """With their current hosts; an arbiter stays an arbiter."""
    document = {"_id": "shop", "version": 9, "members": [], "settings": {"replicaSetId": "a"}}
    written = forced(document, Force(slot(2), (slot(2), slot(FIRST_ARBITER))))
    assert [member["_id"] for member in written["members"]] == [2, FIRST_ARBITER]
    assert written["members"][1]["arbiterOnly"]
    assert written["settings"] == {"replicaSetId": "a"}


def test_a_forced_configuration_is_newer_than_any_with_a_term() -> None:
    """It has no term, so only versions are compared."""
    assert config(0, version=100_000, term=-1).is_newer_than(config(0, version=9, term=7))
    assert config(0, version=1, term=8).is_newer_than(config(0, version=9, term=7))


def test_no_pod_is_replaced_while_a_member_is_far_behind() -> None:
    """It is SECONDARY and healthy, but without the primary the latest writes would wait for it."""
    first, second, third = healthy(is_stale=True)
    late = saying(second, optime=OpTime(3, 89))
    action = decide(Situation(slots=(first, late, third)))
    assert isinstance(action, Wait)
    assert (action.reason, action.message[:17]) == ("MembersLagging", "m-1 is 11 s behin")
    assert decide(Situation(slots=(first, late, third), max_lag=11)) == Restart(third)


def test_one_member_can_be_lost_only_if_a_majority_is_left() -> None:
    """Evictions are allowed by this, whatever Kubernetes considers as Ready."""
    assert Situation(slots=healthy()).can_lose_one
    assert Situation(slots=healthy(1)).can_lose_one
    first, second, third = healthy()
    assert not Situation(slots=(first, second, saying(third, state=State.STARTUP2))).can_lose_one
    four = healthy(5)[:4]
    assert Situation(slots=four).can_lose_one
