"""Decide when a configuration may be forced, and on which member: pure functions.

No observation proves that the missing members are lost for good: the operator may be on the wrong side of a network
partition, together with the members that it reaches. So a force needs the consent of a person, and is rejected while
there is any evidence that a missing member is alive.
"""

from mgors.actions import Action, Force, Wait
from mgors.consent import FORCE, Consent, InvalidConsent
from mgors.members import Config, NotAuthorised, Slot, State
from mgors.situation import Situation

QUORUM_LOST = "QuorumLost"
_NO_MAJORITY = "no majority of the members responds"


def force_or_wait(situation: Situation) -> Action:
    """Return the force, or a wait with the reason against it or what it still needs."""
    left = [slot for slot in situation.slots if slot.config is not None and slot.host]
    holders = [slot for slot in left if not slot.is_arbiter and slot.view and slot.view.optime.term >= 0]
    config = situation.config
    if not holders or config is None:
        return Wait(QUORUM_LOST, f"{_NO_MAJORITY}, and none of those that do has data")
    newest = max(holders, key=lambda slot: (slot.view.optime if slot.view else None, -slot.number))
    keep = (newest, *(slot for slot in left if slot is not newest))
    given_up = [member.number for member in config.members if member.number not in {slot.number for slot in keep}]
    problem = _evidence_against(situation, newest, given_up) or _missing_consent(situation, newest, given_up)
    if not problem and situation.quorum_lost_for < situation.patience:
        problem = f"it has {situation.patience:g} s to return before the consent is used"
    if problem:
        return Wait(QUORUM_LOST, f"{_NO_MAJORITY}; {problem}")
    return Force(newest, keep)


def _evidence_against(situation: Situation, newest: Slot, given_up: list[int]) -> str:
    """Return the evidence that a missing member may be alive; empty if there is none."""
    for number in given_up:
        slot = next((one for one in situation.slots if one.number == number), None)
        if slot is not None and slot.view is not None and slot.view.state is State.UNINITIALIZED:
            continue  # it is alive, but has lost its data
        if slot is not None and isinstance(slot.reach, NotAuthorised):
            return f"{slot.problem}: it is alive, so nothing is forced"
        if slot is not None and slot.is_ready:
            return f"{slot.problem}: if it hangs, delete the pod; nothing is forced while it may be alive"
        if (witness := situation.seen_up(number)) is not None:
            return f"{situation.pod_of(number)} responds to {witness.pod}, only not to the operator: nothing is forced"
    return _newer_term(situation, newest)


def _newer_term(situation: Situation, newest: Slot) -> str:
    own = newest.view.optime.term if newest.view else -1
    consent = situation.consent
    accepted = consent.term if isinstance(consent, Consent) else -1
    known, slot = max(((view.newest_term, slot) for slot, view in situation.views), key=lambda pair: pair[0])
    if known <= max(own, accepted):
        return ""
    return (
        f"{slot.pod} knows term {known}, but the newest remaining data, of {newest.pod}, has term {own}: a missing "
        f'member may have acknowledged writes since; "term": {known} in the annotation gives these up as well'
    )


def _missing_consent(situation: Situation, newest: Slot, given_up: list[int]) -> str:
    """Return what a force still needs; empty if nothing."""
    names = sorted(situation.pod_of(number) for number in given_up)
    if not situation.may_force:
        return f"to continue without {', '.join(names)}, set unsafe.forceReconfigOnLostQuorum"
    how = (
        f"to give up {', '.join(names)} with all writes that only they have, annotate this object once with "
        f'{FORCE}={{"uid": its uid, "expires": a time within the hour, "without": [{_quoted(names)}]}}'
    )
    problem = _problem(situation, newest.config, names)
    if problem is None:
        return ""
    return f"{problem}{how}"


def _problem(situation: Situation, config: Config | None, names: list[str]) -> str | None:
    """Return the problem of the consent, as a prefix of the instructions; ``None`` if it is valid."""
    match situation.consent:
        case None:
            return ""
        case InvalidConsent(problem):
            return f"the annotation {FORCE} is invalid: {problem}; "
        case Consent(without=without):
            unnamed = sorted(set(names) - without)
            if config is None or situation.spent_at not in (None, (config.version, config.term)):
                return f"the annotation {FORCE} was used already; "
            return f"the annotation {FORCE} does not name {', '.join(unnamed)}; " if unnamed else None


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
