"""Select the master, also when no server or several servers are masters: pure functions on plain data.

Sentinels replace a master that fails, and as long as they can the operator leaves it to them. Otherwise the server with
the newest data becomes master. No data is discarded: of two masters the one that the sentinels monitor stays if it has
the newest data; if it does not, nothing is done until a person has decided.
"""

from dataclasses import dataclass

from redisfailover.actions import Action, Failover, Follow, Promote
from redisfailover.observation import Address, Goal, Observation, RedisNode
from redisfailover.plan import ConditionState

#: Seconds that sentinels have to replace a master that they consider down.
SENTINEL_TIMEOUT = 60.0
#: Seconds for which there may be two masters, as there are during a failover, before it counts as split brain.
SPLIT_BRAIN_DELAY = 15.0

ONE_MASTER = ConditionState(False, "OneMaster", "there is at most one master")


@dataclass(frozen=True, slots=True)
class MasterSelection:
    """The master, and the actions that come before all others."""

    master: RedisNode | None
    actions: tuple[Action, ...]
    available: ConditionState
    split: ConditionState = ONE_MASTER


def select_master(goal: Goal, seen: Observation) -> MasterSelection:
    """Return the master, or the actions that lead to one."""
    if goal.external_master is not None:
        return _follow_external(goal.external_master, seen)
    match seen.masters:
        case ():
            return _no_master(goal, seen)
        case (master,):
            return MasterSelection(master, (), _available(master))
        case several:
            return _several_masters(goal, seen, several)


def _available(master: RedisNode) -> ConditionState:
    return ConditionState(True, "MasterAnswers", f"{master.pod} is the master")


def _missing(reason: str, message: str) -> ConditionState:
    return ConditionState(False, reason, message)


def _follow_external(external: Address, seen: Observation) -> MasterSelection:
    """Make all servers follow the external master, including a former master of ours."""
    behind = [node for node in seen.answering if node.role == "master" or node.follows != external]
    actions = tuple(Follow(node, external) for node in behind)
    return MasterSelection(
        None, actions, _missing("FollowsBootstrapNode", f"the master is {external}, outside of this cluster")
    )


def _several_masters(goal: Goal, seen: Observation, masters: tuple[RedisNode, ...]) -> MasterSelection:
    names = " and ".join(node.pod for node in masters)
    chosen = max(masters, key=lambda node: len(seen.watching(node.address)))
    others = [node for node in masters if node is not chosen]
    if seen.is_failing_over:
        split = ConditionState(
            None, "FailingOver", f"{names} are masters while the sentinels replace one with the other"
        )
        return MasterSelection(
            None, (), ConditionState(True, "FailingOver", "the sentinels are replacing the master"), split
        )
    is_watched = len(seen.watching(chosen.address)) >= goal.quorum and chosen.address is not None
    if is_watched and chosen.address is not None and all(chosen.has_all_data_of(node) for node in others):
        actions = tuple(Follow(node, chosen.address) for node in others)
        return MasterSelection(chosen, actions, _available(chosen))
    message = f"{names} are masters, and it is not certain which one has the newest data"
    lasts = seen.seconds_with_several_masters >= SPLIT_BRAIN_DELAY
    advice = (
        f"{message}: make all but one follow that one (REPLICAOF); the operator does nothing until then"
        if lasts
        else message
    )
    available = ConditionState(None, "SeveralMasters", advice)
    return MasterSelection(None, (), available, ConditionState(True if lasts else None, "SeveralMasters", advice))


def _no_master(goal: Goal, seen: Observation) -> MasterSelection:
    """Handle that no server is master: wait for sentinels that can act, then for missing servers, then promote one."""
    if seen.is_failing_over:
        return MasterSelection(None, (), _missing("FailingOver", "the sentinels are replacing the master"))
    watched = _watched(goal, seen)
    if watched is not None and _followers(seen, watched):
        return _wait_for_sentinels(goal, seen, watched)
    absent = goal.replicas - len(seen.answering)
    if absent > 0:
        message = (
            f"there is no master, and {absent} of {goal.replicas} servers do not respond: they may have the newest data"
        )
        return MasterSelection(None, (), _missing("WaitingForServers", message))
    return _promotion(seen, "no server is master")


def _wait_for_sentinels(goal: Goal, seen: Observation, watched: Address) -> MasterSelection:
    """Leave the replacement of a failed master to the sentinels, a quorum of which monitors it."""
    lost = seen.at(watched)
    if lost is not None and lost.role == "slave":
        # It restarted, so its data may be older than that of its replicas. Sentinels would notice after half a minute.
        why = f"the master {lost.pod} restarted"
        if _has_more_data(lost, _followers(seen, watched)):
            again = f"{why}, and its replicas do not have all of its data: it becomes master again"
            return MasterSelection(None, (Promote(lost, again),), _missing("Promoting", again))
        first = seen.watching(watched)[0]
        message = _missing("MasterRestarted", f"{why}: requesting a failover from the sentinels")
        best = max(_followers(seen, watched), key=lambda node: (node.history == lost.history, node.recency))
        return MasterSelection(None, (Failover(first, best, why),), message)
    gone = [node for node in seen.watching(watched) if node.is_down]
    if seen.seconds_without_master >= SENTINEL_TIMEOUT and len(gone) >= goal.quorum:
        return _promotion(seen, f"the sentinels have not replaced {watched} in {SENTINEL_TIMEOUT:.0f} seconds")
    return MasterSelection(None, (), _missing("WaitingForSentinels", f"the master {watched} does not respond"))


def _has_more_data(lost: RedisNode, followers: list[RedisNode]) -> bool:
    """Return whether it is certain that a server has newer data than all of its replicas: they had not synced yet."""
    is_newest = all(lost.has_all_data_of(node) for node in followers)
    return is_newest and not any(node.has_all_data_of(lost) for node in followers)


def _followers(seen: Observation, master: Address) -> list[RedisNode]:
    """Return the replicas of a master, without itself: after a restart a master follows itself."""
    return [node for node in seen.answering if node.follows == master and node.address != master]


def _watched(goal: Goal, seen: Observation) -> Address | None:
    """Return the master that a quorum of sentinels monitors."""
    addresses = {node.watches for node in seen.watchers if node.watches is not None}
    return next((one for one in sorted(addresses) if len(seen.watching(one)) >= goal.quorum), None)


def _promotion(seen: Observation, why: str) -> MasterSelection:
    best = newest_of(seen)
    if best is None:
        names = ", ".join(f"{node.pod} (offset {node.offset} of {node.history[:8]})" for node in seen.answering)
        message = f"{why}, and the data of {names} has different histories: offsets do not show which one is newest"
        return MasterSelection(
            None, (), _missing("HistoriesDiffer", f"{message}; make the right one master (REPLICAOF NO ONE)")
        )
    message = f"{why}: {best.pod} has the newest data (offset {best.offset}) and becomes master"
    return MasterSelection(None, (Promote(best, message),), _missing("Promoting", message))


def newest_of(seen: Observation) -> RedisNode | None:
    """Return the server that has the newest data; ``None`` if that cannot be known.

    Offsets are comparable only within one history. Of several, that of the last observed master is the newest.
    """
    latest = [node for node in seen.answering if seen.last_history and node.history == seen.last_history]
    if latest:
        return max(latest, key=lambda node: node.recency)
    whole = [node for node in seen.answering if all(node.has_all_data_of(other) for other in seen.answering)]
    return max(whole, key=lambda node: node.recency, default=None)
