"""The conditions of a replica set, from the situation and the action: pure functions."""

from typing import NamedTuple

from mgors.actions import Action, NoAction, Wait
from mgors.forcing import QUORUM_LOST
from mgors.members import Slot
from mgors.plan import DATA_LOST, votes_of
from mgors.situation import Situation


class ConditionState(NamedTuple):
    """The wanted state of a condition."""

    type: str
    status: bool | None
    reason: str
    message: str = ""


def conditions_of(situation: Situation, action: Action) -> list[ConditionState]:
    """Return all conditions."""
    return [
        _ready(situation, action),
        _initialized(situation),
        _quorum(situation),
        _progressing(situation, action),
        ConditionState("Paused", situation.is_paused, "Paused" if situation.is_paused else "Running"),
    ]


def missing(situation: Situation) -> list[str]:
    """Return the wanted pods whose members are not healthy, not in the configuration, or lack their vote."""
    return [slot.pod for slot in situation.slots if slot.is_wanted and not _is_working(slot, situation)]


def _is_working(slot: Slot, situation: Situation) -> bool:
    member = situation.config.member(slot.number) if situation.config else None
    return slot.is_healthy and member is not None and member.votes >= votes_of(slot, situation.slots)


def _ready(situation: Situation, action: Action) -> ConditionState:
    if situation.is_paused:
        return ConditionState("Ready", False, "Paused", "the replica set is paused")
    if isinstance(action, Wait):
        return ConditionState("Ready", False, action.reason, action.message)
    if situation.primary is None:
        return ConditionState("Ready", False, "NoPrimary", "there is no primary")
    if absent := missing(situation):
        return ConditionState("Ready", False, "MembersMissing", f"incomplete without {', '.join(absent)}")
    return ConditionState("Ready", True, "AllMembersReady", f"{situation.primary.pod} is the primary")


def _initialized(situation: Situation) -> ConditionState:
    if situation.config is not None:
        return ConditionState("Initialized", True, "Initiated")
    if situation.was_initiated:
        unknown = None if situation.is_paused or any(slot.view is None for slot in situation.slots) else False
        return ConditionState("Initialized", unknown, "NoAnswer" if unknown is None else DATA_LOST)
    return ConditionState("Initialized", False, "NotYet")


def _quorum(situation: Situation) -> ConditionState:
    if situation.primary is not None or situation.has_quorum or situation.unseen_primary is not None:
        return ConditionState("QuorumAvailable", True, "Majority")
    if situation.is_paused or not (situation.was_initiated or situation.config):
        return ConditionState("QuorumAvailable", None, "NotRunning")
    if not situation.views:
        # All of them may be healthy: the operator may be the one that is cut off.
        return ConditionState("QuorumAvailable", None, "NoMemberAnswers", "no member responds to the operator")
    return ConditionState("QuorumAvailable", False, QUORUM_LOST, "no majority of the members responds")


def _progressing(situation: Situation, action: Action) -> ConditionState:
    if situation.is_paused or isinstance(action, NoAction):
        return ConditionState("Progressing", False, "AsAskedFor")
    if isinstance(action, Wait):
        return ConditionState("Progressing", True, action.reason, action.message)
    return ConditionState("Progressing", True, type(action).__name__)
