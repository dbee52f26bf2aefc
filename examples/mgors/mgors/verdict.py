"""The conditions of a replica set, from what was observed and decided. Pure."""

from typing import NamedTuple

from mgors.actions import Action, Rest, Wait
from mgors.forcing import QUORUM_LOST
from mgors.members import Slot
from mgors.plan import DATA_LOST, votes_of
from mgors.situation import Situation


class Verdict(NamedTuple):
    """A condition to be written."""

    type: str
    status: bool | None
    reason: str
    message: str = ""


def verdicts(situation: Situation, action: Action) -> list[Verdict]:
    """Return all conditions."""
    return [
        _ready(situation, action),
        _initialized(situation),
        _quorum(situation),
        _progressing(situation, action),
        Verdict("Paused", situation.is_paused, "Paused" if situation.is_paused else "Running"),
    ]


def missing(situation: Situation) -> list[str]:
    """Return the pods that are wanted and whose members are not healthy, not in the configuration, or do not vote."""
    return [slot.pod for slot in situation.slots if slot.is_wanted and not _does_its_part(slot, situation)]


def _does_its_part(slot: Slot, situation: Situation) -> bool:
    member = situation.config.member(slot.number) if situation.config else None
    return slot.is_healthy and member is not None and member.votes >= votes_of(slot, situation.slots)


def _ready(situation: Situation, action: Action) -> Verdict:
    if situation.is_paused:
        return Verdict("Ready", False, "Paused", "the replica set is paused")
    if isinstance(action, Wait):
        return Verdict("Ready", False, action.reason, action.message)
    if situation.primary is None:
        return Verdict("Ready", False, "NoPrimary", "no member takes writes")
    if absent := missing(situation):
        return Verdict("Ready", False, "MembersMissing", f"not complete without {', '.join(absent)}")
    return Verdict("Ready", True, "AllMembersReady", f"{situation.primary.pod} takes writes")


def _initialized(situation: Situation) -> Verdict:
    if situation.config is not None:
        return Verdict("Initialized", True, "Initiated")
    if situation.was_initiated:
        unknown = None if situation.is_paused or any(slot.view is None for slot in situation.slots) else False
        return Verdict("Initialized", unknown, "NoAnswer" if unknown is None else DATA_LOST)
    return Verdict("Initialized", False, "NotYet")


def _quorum(situation: Situation) -> Verdict:
    if situation.primary is not None or situation.has_quorum or situation.unseen_primary is not None:
        return Verdict("QuorumAvailable", True, "Majority")
    if situation.is_paused or not (situation.was_initiated or situation.config):
        return Verdict("QuorumAvailable", None, "NotRunning")
    if not situation.views:
        # All of them may be well: the operator may be the one that is cut off.
        return Verdict("QuorumAvailable", None, "NoMemberAnswers", "no member answers the operator")
    return Verdict("QuorumAvailable", False, QUORUM_LOST, "no majority of the members answers")


def _progressing(situation: Situation, action: Action) -> Verdict:
    if situation.is_paused or isinstance(action, Rest):
        return Verdict("Progressing", False, "AsAskedFor")
    if isinstance(action, Wait):
        return Verdict("Progressing", True, action.reason, action.message)
    return Verdict("Progressing", True, type(action).__name__)
