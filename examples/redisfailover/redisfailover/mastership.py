"""Which server is the master, and what to do when none is, or several are. Rules on plain data.

Sentinels replace a master that fails; nobody else does while they can. Otherwise the server that got furthest in the
history of the data becomes master. Data is never thrown away: of two masters the one that the sentinels watch is kept
if it has the newest data, and else nothing is done until a person decided.
"""

from dataclasses import dataclass

from redisfailover.actions import Action, Failover, Follow, Promote
from redisfailover.observation import Address, Goal, Observation, RedisNode
from redisfailover.plan import Verdict

#: Seconds that sentinels which see that the master is gone have to replace it.
PATIENCE = 60.0
#: Seconds that sentinels have to settle that there are two masters, as there are in the middle of a failover.
SETTLING = 15.0

ONE_MASTER = Verdict(False, "OneMaster", "there are not several masters")


@dataclass(frozen=True, slots=True)
class Mastership:
    """Who is master, and what is to be done about that before anything else."""

    master: RedisNode | None
    actions: tuple[Action, ...]
    available: Verdict
    split: Verdict = ONE_MASTER


def mastership(goal: Goal, seen: Observation) -> Mastership:
    """Find the master, or say how there will be one."""
    if goal.outside is not None:
        return _outside(goal.outside, seen)
    match seen.masters:
        case ():
            return _without(goal, seen)
        case (master,):
            return Mastership(master, (), _available(master))
        case several:
            return _several(goal, seen, several)


def _available(master: RedisNode) -> Verdict:
    return Verdict(True, "MasterAnswers", f"{master.pod} is the master")


def _missing(reason: str, message: str) -> Verdict:
    return Verdict(False, reason, message)


def _outside(outside: Address, seen: Observation) -> Mastership:
    """Everybody follows the one outside, also one that was master here before."""
    behind = [node for node in seen.answering if node.role == "master" or node.follows != outside]
    actions = tuple(Follow(node, outside) for node in behind)
    return Mastership(None, actions, _missing("FollowsBootstrapNode", f"the master is {outside}, outside"))


def _several(goal: Goal, seen: Observation, masters: tuple[RedisNode, ...]) -> Mastership:
    names = " and ".join(node.pod for node in masters)
    chosen = max(masters, key=lambda node: len(seen.watching(node.address)))
    others = [node for node in masters if node is not chosen]
    if seen.is_failing_over:
        split = Verdict(None, "FailingOver", f"{names} are masters while the sentinels replace one by the other")
        return Mastership(None, (), Verdict(True, "FailingOver", "the sentinels are replacing the master"), split)
    is_watched = len(seen.watching(chosen.address)) >= goal.quorum and chosen.address is not None
    if is_watched and chosen.address is not None and all(chosen.has_all_of(node) for node in others):
        actions = tuple(Follow(node, chosen.address) for node in others)
        return Mastership(chosen, actions, _available(chosen))
    told = f"{names} are masters, and it is not certain which has the data that counts"
    lasts = seen.several_for >= SETTLING
    advice = f"{told}: let all but one follow that one (REPLICAOF), nothing is done until then" if lasts else told
    available = Verdict(None, "SeveralMasters", advice)
    return Mastership(None, (), available, Verdict(True if lasts else None, "SeveralMasters", advice))


def _without(goal: Goal, seen: Observation) -> Mastership:
    """Nobody is master: wait for the sentinels if they can be expected to act, for the servers if some are missing."""
    if seen.is_failing_over:
        return Mastership(None, (), _missing("FailingOver", "the sentinels are replacing the master"))
    watched = _watched(goal, seen)
    if watched is not None and _followers(seen, watched):
        return _sentinels_turn(goal, seen, watched)
    absent = goal.replicas - len(seen.answering)
    if absent > 0:
        told = (
            f"there is no master, and {absent} of {goal.replicas} servers do not answer: the newest data may be there"
        )
        return Mastership(None, (), _missing("WaitingForServers", told))
    return _promotion(seen, "no server is master")


def _sentinels_turn(goal: Goal, seen: Observation, watched: Address) -> Mastership:
    """Servers follow a master that is gone, and enough sentinels watch it: replacing it is theirs."""
    lost = seen.at(watched)
    if lost is not None and lost.role == "slave":
        # It restarted. Sentinels would notice after half a minute; its data may be older than that of its replicas.
        why = f"{lost.pod}, the master, restarted"
        first = seen.watching(watched)[0]
        told = _missing("MasterRestarted", f"{why}: the sentinels are asked for another one")
        best = max(_followers(seen, watched), key=lambda node: (node.history == lost.history, node.newest))
        return Mastership(None, (Failover(first, best, why),), told)
    gone = [node for node in seen.watching(watched) if node.is_down]
    if seen.masterless_for >= PATIENCE and len(gone) >= goal.quorum:
        return _promotion(seen, f"the sentinels have not replaced {watched} in {PATIENCE:.0f} seconds")
    return Mastership(None, (), _missing("WaitingForSentinels", f"the master {watched} does not answer"))


def _followers(seen: Observation, master: Address) -> list[RedisNode]:
    """Give those who follow a master, which after its own restart follows itself."""
    return [node for node in seen.answering if node.follows == master and node.address != master]


def _watched(goal: Goal, seen: Observation) -> Address | None:
    """Give the master that enough sentinels watch."""
    addresses = {node.watches for node in seen.watchers if node.watches is not None}
    return next((one for one in sorted(addresses) if len(seen.watching(one)) >= goal.quorum), None)


def _promotion(seen: Observation, why: str) -> Mastership:
    best = newest_of(seen)
    if best is None:
        names = ", ".join(f"{node.pod} (offset {node.offset} of {node.history[:8]})" for node in seen.answering)
        told = f"{why}, and the data of {names} is of different histories: offsets do not tell which one counts"
        return Mastership(None, (), _missing("HistoriesDiffer", f"{told}; let that one be master (REPLICAOF NO ONE)"))
    told = f"{why}: {best.pod} has the newest data (offset {best.offset}) and becomes master"
    return Mastership(None, (Promote(best, told),), _missing("Promoting", told))


def newest_of(seen: Observation) -> RedisNode | None:
    """Return the server that has the newest data; ``None`` if that cannot be known.

    Offsets are comparable within one history. Of several, the one of the last master that was seen is the newest.
    """
    latest = [node for node in seen.answering if seen.last_history and node.history == seen.last_history]
    if latest:
        return max(latest, key=lambda node: node.newest)
    whole = [node for node in seen.answering if all(node.has_all_of(other) for other in seen.answering)]
    return max(whole, key=lambda node: node.newest, default=None)
