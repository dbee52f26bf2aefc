"""Decide the next action on a replica set: pure functions. Each reconcile takes one action; waiting is one.

- A set is initiated only when every member reports that it belongs to none, and never twice.
- Members are added and removed one at a time, and only after a majority has the last change and every vote counts.
- A member that returns with data joins only if the primary has all of it, and gets its vote after it has caught up.
- No pod is deleted only because its member does not respond: the kubelet must also report it as not Ready.
- A configuration is forced only by the rules of `forcing`.
"""

from collections.abc import Iterable

from mgors.actions import (
    Action,
    Add,
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
from mgors.forcing import QUORUM_LOST, force_or_wait
from mgors.members import MOST_VOTERS, Config, Lineage, Slot, State, View
from mgors.situation import Situation
from mgors.upgrades import line_of

#: Reasons for waiting that require action by a person.
DATA_LOST, FOREIGN_DATA, DIVERGED_DATA, STALE_DATA = "DataLost", "ForeignData", "DivergedData", "StaleData"
NOT_AUTHORISED = "NotAuthorised"
NEEDS_PERSON = (DATA_LOST, FOREIGN_DATA, DIVERGED_DATA, STALE_DATA, NOT_AUTHORISED, QUORUM_LOST)


def decide(situation: Situation) -> Action:
    """Return the next action."""
    if situation.is_paused:
        return NoAction()
    if refusing := situation.unauthorised:
        names = ", ".join(slot.pod for slot in refusing)
        advice = "restore the Secret that they were started with"
        return Wait(
            NOT_AUTHORISED, f"{names} rejected the keyfile, or has a certificate of another authority: {advice}"
        )
    if situation.config is None:
        return _begin(situation)
    if len(situation.claimants) > 1:
        names = ", ".join(slot.pod for slot in situation.claimants)
        return Wait("SeveralPrimaries", f"{names} are both primary: nothing is changed until one has stepped down")
    primary = situation.primary
    if primary is None or primary.config is None or primary.view is None:
        return _without_primary(situation)
    return _with_primary(situation, primary, primary.view, primary.config)


def _begin(situation: Situation) -> Action:
    silent = [slot for slot in situation.slots if slot.view is None]
    if stuck := _stuck(situation.slots):
        return Restart(stuck)
    if situation.was_initiated and silent:
        return Wait("MembersUnreachable", ", ".join(slot.problem for slot in silent))
    if silent or not situation.slots:
        return Wait("PodsStarting", f"waiting for {', '.join(slot.pod for slot in silent) or 'pods'}")
    if any(view.state is not State.UNINITIALIZED for _, view in situation.views):
        # It is about to receive a configuration; the member that sent it decides.
        return Wait("MembersStarting", "waiting for members to read their configuration")
    if situation.was_initiated and not situation.may_start_empty:
        return Wait(DATA_LOST, "no member has any data left: restore a backup with a MgorsRestore of this cluster")
    return Initiate(min(situation.slots, key=lambda slot: (slot.is_arbiter, slot.number)))


def _without_primary(situation: Situation) -> Action:
    if (unseen := situation.unseen_primary) is not None:
        witness, number = unseen
        message = f"{witness.pod} sees {situation.pod_of(number)} as primary, but it does not respond to the operator"
        return Wait("PrimaryUnreachable", f"{message}: check the network between the operator and the pods")
    if situation.has_quorum:
        return Wait("Electing", "a majority of the members is up and is electing a primary")
    if stuck := _stuck(situation.slots):
        return Restart(stuck)
    return force_or_wait(situation)


def _stuck(slots: Iterable[Slot]) -> Slot | None:
    """Return a pod of an old revision that does not work, so that a corrected image takes effect.

    That it does not respond is not enough: the kubelet must report it as not Ready, too.
    """
    return next((slot for slot in slots if slot.is_stale and not slot.is_alive), None)


def _with_primary(situation: Situation, primary: Slot, view: View, config: Config) -> Action:
    if not view.is_committed:
        return _waiting_for_votes(situation, config)
    if view.voting != config.votes:
        return _remove_unreachable(situation, config) or _waiting_for_votes(situation, config)
    return (
        _correct_address(situation, config)
        or _shrink(situation, primary, config)
        or _share_votes(situation, view, config)
        or _grow(situation, config)
        or _pending_votes(situation, config)
        or _replace(situation, primary, config)
        or _raise_compatibility(situation, primary)
        or NoAction()
    )


def _waiting_for_votes(situation: Situation, config: Config) -> Wait:
    """Return why the last change is not complete; the message names voters that do not respond."""
    silent = [slot for slot in situation.slots if slot.view is None and config.member(slot.number) is not None]
    if silent:
        names = ", ".join(slot.problem for slot in silent)
        return Wait("MembersUnreachable", f"{names}; the last change of members waits for it")
    return Wait("MembershipChanging", "the last change of members is not complete: a vote does not count yet")


def _remove_unreachable(situation: Situation, config: Config) -> Action | None:
    """Return the removal of an unwanted member that does not respond, so that its vote would never count."""
    silent = {slot.number for slot in situation.slots if not slot.is_wanted and slot.view is None}
    leaving = [member for member in config.members if member.number in silent]
    return Remove(leaving[-1].number, leaving[-1].host) if leaving else None


def _correct_address(situation: Situation, config: Config) -> Action | None:
    """Return the correction of a member whose host differs from the configuration."""
    hosts = {member.host: member.number for member in config.members}
    for slot in _wanted(situation):
        member = config.member(slot.number)
        if member is None or not slot.host or slot.view is None or member.host == slot.host:
            continue
        if hosts.get(slot.host, slot.number) != slot.number:
            # Another member is listed with this host, so this one leaves and joins again afterwards.
            return Remove(member.number, member.host)
        return SetHost(slot)
    return None


def _shrink(situation: Situation, primary: Slot, config: Config) -> Action | None:
    """Return the removal of an unwanted member, the highest number first."""
    wanted = {slot.number for slot in _wanted(situation)}
    unwanted = [member for member in config.members if member.number not in wanted]
    if not unwanted:
        return None
    leaving = max(unwanted, key=lambda member: member.number)
    if leaving.number == primary.number:
        return StepDown(primary, "it is being removed from the replica set")
    return Remove(leaving.number, leaving.host)


def votes_of(slot: Slot, slots: tuple[Slot, ...]) -> int:
    """Return the wanted votes of a member. At most seven members vote; arbiters come first."""
    if slot.is_arbiter:
        return 1
    arbiters = sum(1 for other in slots if other.is_arbiter and other.is_wanted)
    return 1 if slot.number < MOST_VOTERS - arbiters else 0


def _share_votes(situation: Situation, primary: View, config: Config) -> Action | None:
    changes = []
    for slot in _wanted(situation):
        member = config.member(slot.number)
        votes = votes_of(slot, situation.slots)
        if member is None or member.votes == votes or (votes and not _has_caught_up(slot, primary)):
            continue
        changes.append(SetVotes(member.number, votes))
    # Votes are removed before others are added, so that there are never more than seven.
    return min(changes, key=lambda change: (change.votes, change.number), default=None)


def _pending_votes(situation: Situation, config: Config) -> Action | None:
    """Return a wait for members that must catch up before they get their vote."""
    pending = []
    for slot in _wanted(situation):
        member = config.member(slot.number)
        if member is not None and member.votes < votes_of(slot, situation.slots):
            pending.append(_describe_problem(slot))
    if not pending:
        return None
    return Wait("VotesPending", f"{', '.join(pending)}, and gets its vote when it has caught up with the primary")


def _has_caught_up(slot: Slot, primary: View) -> bool:
    """Return whether a member has an entry of the primary's term, which proves that their histories agree."""
    if slot.view is None or not slot.is_healthy:
        return False
    return slot.is_arbiter or slot.view.optime.term == primary.optime.term


def _grow(situation: Situation, config: Config) -> Action | None:
    missing = [slot for slot in _wanted(situation) if config.member(slot.number) is None]
    if stuck := _stuck(missing):
        return Restart(stuck)
    waits = []
    for slot in missing:
        answer = _join(slot, situation, config)
        if isinstance(answer, Add):
            return answer
        waits.append(answer)
    # A member that needs a person comes before those that only need time.
    return min(waits, key=lambda wait: wait.reason == "PodsStarting", default=None)


def _join(slot: Slot, situation: Situation, config: Config) -> Add | Wait:
    """Return the addition of a member, or why it cannot be added without losing its data or harming the set."""
    if slot.view is None or not slot.host:
        return Wait("PodsStarting", f"waiting for {slot.pod}: it {slot.problem.removeprefix(slot.pod).strip()}")
    if slot.config is None:
        return Add(slot, votes_of(slot, situation.slots))
    disk = f"its disk (claim data-{slot.pod})"
    if slot.config.set_id != config.set_id:
        return Wait(FOREIGN_DATA, f"{slot.pod} has data of another replica set: empty {disk}, then it joins")
    if slot.is_arbiter or slot.lineage is Lineage.CONTAINED:
        return Add(slot, votes_of(slot, situation.slots) if slot.is_arbiter else 0)
    if slot.lineage is Lineage.DIVERGED:
        message = f"{slot.pod} has writes that this replica set does not have, and would lose them if it joined"
        advice = f"save what you need with a mongod without --replSet on {disk}, then delete the claim and the pod"
        return Wait(DIVERGED_DATA, f"{message}: {advice}; it joins again without data")
    if slot.lineage is Lineage.TOO_OLD:
        return Wait(
            STALE_DATA, f"{slot.pod} is older than the oplog of the primary: delete {disk} and the pod, then it joins"
        )
    return Wait("PodsStarting", f"waiting for {slot.pod}: its data has not been compared with the primary's yet")


def _replace(situation: Situation, primary: Slot, config: Config) -> Action | None:
    """Return the replacement of an outdated pod: one at a time, never during a backup, the primary last."""
    members = [slot for slot in situation.slots if config.member(slot.number) is not None]
    sick = [slot for slot in members if not slot.is_healthy]
    stale = [slot for slot in members if slot.is_stale]
    if sick:
        if len(sick) == 1 and _stuck(sick) and not situation.is_busy:
            return Restart(sick[0])  # it does not work now, and its successor may
        return Wait("MembersNotReady", ", ".join(_describe_problem(slot) for slot in sick))
    if not stale:
        return None
    if situation.is_busy:
        return Wait("BackupRunning", "pods are replaced after the backup")
    if late := _lagging(situation, members, primary):
        return Wait("MembersLagging", f"{', '.join(late)}: pods are replaced when all members have caught up")
    others = [slot for slot in stale if slot.number != primary.number]
    if others:
        return Restart(max(others, key=lambda slot: slot.number))
    if sum(1 for slot in members if not slot.is_arbiter) > 1:
        return StepDown(primary, "its pod is replaced")
    return Restart(primary)


def _lagging(situation: Situation, members: list[Slot], primary: Slot) -> list[str]:
    """Return the members that are too far behind: without the primary, its latest writes would wait for them."""
    newest = primary.view.optime.seconds if primary.view else 0
    behind = {slot.pod: newest - slot.view.optime.seconds for slot in members if slot.view and not slot.is_arbiter}
    return [f"{pod} is {seconds} s behind" for pod, seconds in behind.items() if seconds > situation.max_lag]


def _describe_problem(slot: Slot) -> str:
    return f"{slot.pod} is {slot.view.state}" if slot.view else slot.problem


def _raise_compatibility(situation: Situation, primary: Slot) -> Action | None:
    versions = {line_of(slot.view.version) for slot in situation.slots if slot.view and not slot.is_arbiter}
    now = primary.view.compatibility if primary.view else ""
    if situation.is_busy or len(versions) != 1 or not now:
        return None
    [version] = versions
    if situation.held_compatibility:
        version = min(version, line_of(situation.held_compatibility))
    if version <= line_of(now):
        return None
    return RaiseCompatibility(primary, f"{version[0]}.{version[1]}")


def _wanted(situation: Situation) -> list[Slot]:
    return [slot for slot in situation.slots if slot.is_wanted]


def pods_needed(situation: Situation, *, members: int, running: int) -> int:
    """Return the number of pods that are needed: the pod of a member that is still in the configuration stays.

    Only a primary has the configuration in effect; without one no pod is removed.
    """
    if situation.is_paused:
        return 0
    config = situation.config
    if config is None or situation.primary is None:
        return max(members, running)
    listed = [member.number for member in config.members if member.number < running and not member.is_arbiter]
    return max([members, *(number + 1 for number in listed)])


def arbiters_needed(situation: Situation, wanted: int, running: int) -> int:
    """Return the number of arbiter pods that are needed, by the same rule."""
    if situation.is_paused:
        return 0
    config = situation.config
    is_listed = config is None or any(member.is_arbiter for member in config.members)
    return max(wanted, running) if situation.primary is None or is_listed else wanted
