"""Conditions of a replica set."""

from dataclasses import replace

from mgors.actions import Add, NoAction, Wait
from mgors.conditions import conditions_of
from mgors.forcing import QUORUM_LOST
from mgors.members import Answered, Config, ConfigMember, Slot, State, View
from mgors.plan import DATA_LOST
from mgors.situation import Situation

CONFIG = Config(version=1, term=1, members=(ConfigMember(number=0, host="a:1"),))
PRIMARY = Slot(number=0, pod="m-0", host="a:1", reach=Answered(View(state=State.PRIMARY, config=CONFIG, voting=1)))
SILENT = Slot(number=0, pod="m-0", host="a:1")


def conditions(situation: Situation, action: NoAction | Wait | Add) -> dict[str, tuple[bool | None, str]]:
    """Return status and reason of each condition, keyed by type."""
    return {one.type: (one.status, one.reason) for one in conditions_of(situation, action)}


def test_a_healthy_set_is_ready() -> None:
    """All conditions are good, and nothing is in progress."""
    found = conditions(Situation(slots=(PRIMARY,), was_initiated=True), NoAction())
    assert found == {
        "Ready": (True, "AllMembersReady"),
        "Initialized": (True, "Initiated"),
        "QuorumAvailable": (True, "Majority"),
        "Progressing": (False, "AsAskedFor"),
        "Paused": (False, "Running"),
    }


def test_a_set_that_is_scaled_up_is_not_ready_before_all_members_have_joined() -> None:
    """There is a primary, but not all wanted members."""
    new = Slot(number=1, pod="m-1", host="b:1", reach=Answered(View(state=State.UNINITIALIZED)))
    found = conditions(Situation(slots=(PRIMARY, new)), Add(new, 1))
    assert found["Ready"] == (False, "MembersMissing")
    assert found["Progressing"] == (True, "Add")


def test_the_quorum_of_a_new_set_is_unknown() -> None:
    """A quorum that never existed is not lost, and must not raise an alarm."""
    found = conditions(Situation(slots=(SILENT,)), Wait("PodsStarting", ""))
    assert found["QuorumAvailable"] == (None, "NotRunning")
    assert found["Initialized"] == (False, "NotYet")


def test_a_lost_majority_is_reported() -> None:
    """A member responds, and sees no majority."""
    known = replace(CONFIG, members=(*CONFIG.members, ConfigMember(number=1, host="b:1")))
    left = replace(PRIMARY, reach=Answered(View(state=State.SECONDARY, config=known)))
    found = conditions(Situation(slots=(left,), was_initiated=True), Wait(QUORUM_LOST, ""))
    assert found["QuorumAvailable"] == (False, "QuorumLost")
    assert found["Ready"] == (False, QUORUM_LOST)


def test_a_majority_is_not_lost_because_no_member_responds() -> None:
    """The operator may be the one that is cut off."""
    found = conditions(Situation(slots=(SILENT,), was_initiated=True), Wait("MembersUnreachable", ""))
    assert found["QuorumAvailable"] == (None, "NoMemberAnswers")
    assert found["Initialized"] == (None, "NoAnswer")


def test_lost_data_is_reported() -> None:
    """All members respond, and none has data."""
    empty = Slot(number=0, pod="m-0", host="a:1", reach=Answered(View(state=State.UNINITIALIZED)))
    found = conditions(Situation(slots=(empty,), was_initiated=True), Wait(DATA_LOST, ""))
    assert found["Ready"] == (False, DATA_LOST)
    assert found["Initialized"] == (False, DATA_LOST)


def test_a_paused_set_has_not_lost_its_quorum() -> None:
    """There are no members on purpose."""
    found = conditions(Situation(slots=(SILENT,), was_initiated=True, is_paused=True), NoAction())
    assert found["QuorumAvailable"] == (None, "NotRunning")
    assert found["Ready"] == (False, "Paused")
