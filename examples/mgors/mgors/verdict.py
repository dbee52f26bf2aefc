"""What a situation means to the people who asked for the replica set: conditions."""

from typing import NamedTuple

from mgors.actions import Action, Rest, Wait
from mgors.plan import DATA_LOST, Situation


class Verdict(NamedTuple):
    """A condition, as it is to be."""

    type: str
    status: bool | None
    reason: str
    message: str = ""


def verdicts(situation: Situation, action: Action) -> list[Verdict]:
    """Give all conditions."""
    return [
        _ready(situation, action),
        _initialized(situation),
        _quorum(situation),
        _progressing(situation, action),
        Verdict("Paused", situation.is_paused, "Paused" if situation.is_paused else "Running"),
    ]


def missing(situation: Situation) -> list[str]:
    """Give the pods that are wanted and do not do their part, or do not belong to the set yet."""
    config = situation.config
    return [
        seat.pod
        for seat in situation.seats
        if seat.is_wanted and not (seat.is_healthy and config is not None and config.member(seat.number))
    ]


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
        unknown = None if situation.is_paused or any(seat.seen is None for seat in situation.seats) else False
        return Verdict("Initialized", unknown, "NoAnswer" if unknown is None else DATA_LOST)
    return Verdict("Initialized", False, "NotYet")


def _quorum(situation: Situation) -> Verdict:
    if situation.primary is not None or situation.has_quorum:
        return Verdict("QuorumAvailable", True, "Majority")
    if situation.is_paused or not (situation.was_initiated or situation.config):
        return Verdict("QuorumAvailable", None, "NotRunning")
    return Verdict("QuorumAvailable", False, "QuorumLost", "no majority of the members answers")


def _progressing(situation: Situation, action: Action) -> Verdict:
    if situation.is_paused or isinstance(action, Rest):
        return Verdict("Progressing", False, "AsAskedFor")
    if isinstance(action, Wait):
        return Verdict("Progressing", True, action.reason, action.message)
    return Verdict("Progressing", True, type(action).__name__)
