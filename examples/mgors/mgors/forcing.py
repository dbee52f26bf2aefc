"""When a configuration may be forced, and on which member. Pure.

Nothing that can be observed proves that the missing members are gone for good: the operator may be on the wrong side of
a broken network, together with the members that it reaches. So a force needs the consent of a person, and is refused
while there is any evidence that a missing member lives.
"""

from mgors.actions import Action, Force, Wait
from mgors.consent import FORCE, Consent, InvalidConsent
from mgors.members import Config, NotAuthorised, Slot, State
from mgors.situation import Situation

QUORUM_LOST = "QuorumLost"
_NO_MAJORITY = "no majority of the members answers"


def force_or_wait(situation: Situation) -> Action:
    """Return the force, or a wait that says what speaks against it or what is missing for it."""
    left = [slot for slot in situation.slots if slot.config is not None and slot.host]
    holders = [slot for slot in left if not slot.is_arbiter and slot.view and slot.view.optime.term >= 0]
    config = situation.config
    if not holders or config is None:
        return Wait(QUORUM_LOST, f"{_NO_MAJORITY}, and none that does has data")
    newest = max(holders, key=lambda slot: (slot.view.optime if slot.view else None, -slot.number))
    keep = (newest, *(slot for slot in left if slot is not newest))
    given_up = [member.number for member in config.members if member.number not in {slot.number for slot in keep}]
    told = _evidence_against(situation, newest, given_up) or _missing_consent(situation, newest, given_up)
    if not told and situation.quorum_lost_for < situation.patience:
        told = f"it has {situation.patience:g} s to return before the consent is used"
    if told:
        return Wait(QUORUM_LOST, f"{_NO_MAJORITY}; {told}")
    return Force(newest, keep)


def _evidence_against(situation: Situation, newest: Slot, given_up: list[int]) -> str:
    """Return why the missing members cannot be taken for dead; empty if nothing speaks against it."""
    for number in given_up:
        slot = next((one for one in situation.slots if one.number == number), None)
        if slot is not None and slot.view is not None and slot.view.state is State.UNINITIALIZED:
            continue  # it lives, and has lost its data
        if slot is not None and isinstance(slot.reach, NotAuthorised):
            return f"{slot.trouble}: it lives, so nothing is forced"
        if slot is not None and slot.is_ready:
            return f"{slot.trouble}: if it hangs, delete the pod; nothing is forced while it may live"
        if (witness := situation.seen_up(number)) is not None:
            return f"{situation.pod_of(number)} answers {witness.pod}, only not us: nothing is forced"
    return _newer_term(situation, newest)


def _newer_term(situation: Situation, newest: Slot) -> str:
    own = newest.view.optime.term if newest.view else -1
    consent = situation.consent
    accepted = consent.term if isinstance(consent, Consent) else -1
    known, slot = max(((view.newest_term, slot) for slot, view in situation.views), key=lambda pair: pair[0])
    if known <= max(own, accepted):
        return ""
    return (
        f"{slot.pod} knows of term {known} and the newest data here, of {newest.pod}, is of term {own}: a missing "
        f'member may have acknowledged writes since; "term": {known} in the annotation gives these up as well'
    )


def _missing_consent(situation: Situation, newest: Slot, given_up: list[int]) -> str:
    """Return what is missing for a force; empty if nothing is."""
    names = sorted(situation.pod_of(number) for number in given_up)
    if not situation.may_force:
        return f"to go on without {', '.join(names)}, allow it by unsafe.forceReconfigOnLostQuorum"
    how = (
        f"to give up {', '.join(names)} with all writes that only they have, annotate this object once with "
        f'{FORCE}={{"uid": its uid, "expires": a time within the hour, "without": [{_quoted(names)}]}}'
    )
    problem = _problem(situation, newest.config, names)
    if problem is None:
        return ""
    return f"{problem}{how}"


def _problem(situation: Situation, config: Config | None, names: list[str]) -> str | None:
    """Return what is wrong with the consent, to put in front of how to give it; ``None`` if it counts."""
    match situation.consent:
        case None:
            return ""
        case InvalidConsent(problem):
            return f"the annotation {FORCE} does not count: {problem}; "
        case Consent(without=without):
            unnamed = sorted(set(names) - without)
            if config is None or situation.spent_at not in (None, (config.version, config.term)):
                return f"the annotation {FORCE} was used already; "
            return f"the annotation {FORCE} does not name {', '.join(unnamed)}; " if unnamed else None


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
