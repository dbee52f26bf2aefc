"""What people are told."""

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


def told(situation: Situation, action: NoAction | Wait | Add) -> dict[str, tuple[bool | None, str]]:
    """Give the conditions by their types."""
    return {one.type: (one.status, one.reason) for one in conditions_of(situation, action)}


def test_all_is_well() -> None:
    """Ready, and nothing to do."""
    found = told(Situation(slots=(PRIMARY,), was_initiated=True), NoAction())
    assert found == {
        "Ready": (True, "AllMembersReady"),
        "Initialized": (True, "Initiated"),
        "QuorumAvailable": (True, "Majority"),
        "Progressing": (False, "AsAskedFor"),
        "Paused": (False, "Running"),
    }


def test_a_set_that_grows_is_not_ready_before_all_belong_to_it() -> None:
    """The primary takes writes, but what was asked for is not there yet."""
    new = Slot(number=1, pod="m-1", host="b:1", reach=Answered(View(state=State.UNINITIALIZED)))
    found = told(Situation(slots=(PRIMARY, new)), Add(new, 1))
    assert found["Ready"] == (False, "MembersMissing")
    assert found["Progressing"] == (True, "Add")


def test_before_the_beginning_nothing_was_lost() -> None:
    """A quorum that never was is unknown, not lost: nobody is woken up."""
    found = told(Situation(slots=(SILENT,)), Wait("PodsStarting", ""))
    assert found["QuorumAvailable"] == (None, "NotRunning")
    assert found["Initialized"] == (False, "NotYet")


def test_a_lost_majority_is_told() -> None:
    """By a member that answers, and has no majority."""
    known = replace(CONFIG, members=(*CONFIG.members, ConfigMember(number=1, host="b:1")))
    left = replace(PRIMARY, reach=Answered(View(state=State.SECONDARY, config=known)))
    found = told(Situation(slots=(left,), was_initiated=True), Wait(QUORUM_LOST, ""))
    assert found["QuorumAvailable"] == (False, "QuorumLost")
    assert found["Ready"] == (False, QUORUM_LOST)


def test_silence_of_all_members_is_not_a_lost_majority() -> None:
    """The operator may be the one that is cut off."""
    found = told(Situation(slots=(SILENT,), was_initiated=True), Wait("MembersUnreachable", ""))
    assert found["QuorumAvailable"] == (None, "NoMemberAnswers")
    assert found["Initialized"] == (None, "NoAnswer")


def test_lost_data_is_told() -> None:
    """Everybody answers, and nobody knows anything."""
    empty = Slot(number=0, pod="m-0", host="a:1", reach=Answered(View(state=State.UNINITIALIZED)))
    found = told(Situation(slots=(empty,), was_initiated=True), Wait(DATA_LOST, ""))
    assert found["Ready"] == (False, DATA_LOST)
    assert found["Initialized"] == (False, DATA_LOST)


def test_a_pause_is_no_loss() -> None:
    """There is no majority because there is nobody, on purpose."""
    found = told(Situation(slots=(SILENT,), was_initiated=True, is_paused=True), NoAction())
    assert found["QuorumAvailable"] == (None, "NotRunning")
    assert found["Ready"] == (False, "Paused")
