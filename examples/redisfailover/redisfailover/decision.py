"""From what a RedisFailover asks for and what was seen of it to the next steps. Rules on plain data, in one order.

Who is master comes first, then that all others follow, then that the sentinels watch the right one, then settings, and
last a rolling update. What comes later waits for what comes earlier, except for settings, which hurt nobody.
"""

from dataclasses import replace

from redisfailover.actions import (
    Accept,
    Action,
    Adjust,
    Configure,
    Failover,
    Fence,
    Follow,
    Link,
    Monitor,
    Promote,
    Release,
    Replace,
    Require,
    Reset,
    Tell,
)
from redisfailover.mastership import Mastership, mastership
from redisfailover.observation import Address, Goal, Observation, RedisNode, Role, SentinelNode
from redisfailover.passwords import password_steps
from redisfailover.plan import Plan, Verdict

#: How the problem of a server begins that does not accept the password.
REFUSED = "refuses the password"


def decide(goal: Goal, seen: Observation) -> Plan:
    """Say what is to be done next, and what is true now; the same for the same, whatever happened before."""
    found = mastership(goal, seen)
    configure = tuple(Configure(node, settings) for node in seen.answering if (settings := _settings(goal, node)))
    # Who cannot speak with the others any more neither follows nor is watched: the password comes first.
    actions = (*password_steps(goal, seen), *found.actions, *configure)
    plan = Plan(master=found.master, actions=actions, roles=_roles(seen, found.master))
    if found.master is not None and found.master.address is not None and not seen.is_failing_over:
        plan = _around(goal, seen, found.master, found.master.address, plan)
    elif goal.outside is not None:
        plan = replace(plan, actions=(*plan.actions, *_watch_outside(goal, goal.outside, seen)))
    is_calm = not any(isinstance(action, Replace | Failover | Reset) for action in plan.actions)
    if is_calm and (found.master is not None or not seen.answering):
        plan = replace(plan, actions=(*plan.actions, *_unstick(seen)))
    return replace(plan, conditions=_conditions(goal, seen, found, plan))


def _settings(goal: Goal, node: RedisNode) -> dict[str, str]:
    """Return the settings to change in a server. A master that is to go keeps its fence: it may be handing over."""
    is_going = node.role == "master" and goal.replicas > 1 and (not node.is_current or node.ordinal >= goal.stays)
    if node.write_quorum == goal.write_quorum or is_going:
        return dict(node.drift)
    return {**node.drift, "min-replicas-to-write": str(goal.write_quorum)}


def _around(goal: Goal, seen: Observation, master: RedisNode, address: Address, plan: Plan) -> Plan:
    """Bring everything in line with the master."""
    lost = [node for node in seen.answering if node.role == "slave" and node.follows != address]
    follow = tuple(Follow(node, address) for node in lost)
    watch = tuple(_sentinel_steps(goal, seen, address))
    plan = replace(plan, actions=(*plan.actions, *follow, *watch))
    if plan.actions or not _is_whole(goal, seen, master):
        return plan
    return replace(plan, actions=tuple(_rollout(goal, seen, master)))


def _roles(seen: Observation, master: RedisNode | None) -> dict[str, Role]:
    """Say which label each pod has. While nobody knows who is master, clients stay where they are."""
    if master is None:
        return {}
    return {node.pod: "master" if node is master else "slave" for node in seen.redis}


def _is_whole(goal: Goal, seen: Observation, master: RedisNode) -> bool:
    """Whether all servers are there, and all have the data."""
    replicas = [node for node in seen.answering if node is not master]
    return len(seen.answering) >= goal.replicas == len(replicas) + 1 and all(node.is_synced for node in replicas)


def _rollout(goal: Goal, seen: Observation, master: RedisNode) -> list[Action]:
    """Replace one pod that is not as it should be: replicas first, and the master once it is none any more."""
    outdated = [node for node in seen.redis if not node.is_current]
    replicas = sorted((node for node in outdated if node is not master), key=lambda node: -node.ordinal)
    if replicas:
        return [Replace(replicas[0])]
    if not outdated and master.ordinal < goal.stays:
        return []
    if goal.replicas == 1:
        return [Replace(master)]
    return _handover(goal, seen, master)


def _handover(goal: Goal, seen: Observation, master: RedisNode) -> list[Action]:
    """Let another server be master, so that this one can go. Sentinels do it, once all of them know everybody."""
    informed = [node for node in seen.watching(master.address) if node.replicas == goal.replicas - 1]
    if len(informed) < goal.quorum or len(informed) < len(seen.watchers):
        return []
    replicas = tuple(node for node in seen.answering if node is not master)
    best = max(replicas, key=lambda node: node.newest)
    why = f"{master.pod}, the master, is to be replaced or to go"
    fence = Fence(master, replicas, write_quorum=max(len(replicas), goal.write_quorum))
    return [Failover(informed[0], best, why, fence)]


def _unstick(seen: Observation) -> list[Action]:
    """Replace one pod that cannot run as it was made, and was meant otherwise since: it has nothing to wait for."""
    stuck = [node for node in seen.redis if node.is_stuck and not node.is_current and node.role is None]
    return [Replace(max(stuck, key=lambda node: node.ordinal))] if stuck else []


def _watch_outside(goal: Goal, outside: Address, seen: Observation) -> list[Action]:
    """Let sentinels watch the one outside, or nobody: a master that follows looks to them like one that is gone."""
    if goal.watches_outside:
        return [Monitor(node, outside, goal.quorum) for node in seen.watchers if node.watches != outside]
    return [Release(node) for node in seen.watchers if node.watches is not None]


def _sentinel_steps(goal: Goal, seen: Observation, master: Address) -> list[Action]:
    """Let every sentinel watch the master, with the options that are asked for, and forget those who are gone."""
    steps: list[Action] = []
    for node in seen.watchers:
        if node.watches != master:
            steps.append(Monitor(node, master, goal.quorum))
        elif options := _options(goal, node):
            steps.append(Adjust(node, options))
    return steps or _forgetting(goal, seen, master)


def _options(goal: Goal, node: SentinelNode) -> dict[str, str]:
    quorum = {"quorum": str(goal.quorum)} if node.quorum != goal.quorum else {}
    return {**node.drift, **quorum}


def _forgetting(goal: Goal, seen: Observation, master: Address) -> list[Action]:
    """Reset one sentinel that remembers more than there are, while all others know enough to act without it."""
    all_there = len(seen.watchers) == goal.sentinels and len(seen.answering) == goal.replicas == len(seen.redis)
    known = [(node.replicas - (goal.replicas - 1), node.others - (goal.sentinels - 1)) for node in seen.watchers]
    if not all_there or any(replicas < 0 or others < 0 for replicas, others in known):
        return []
    for node, surplus in zip(seen.watchers, known, strict=True):
        if any(surplus):
            told = f"{node.pod} remembers {node.replicas} replicas and {node.others} other sentinels"
            why = f"{told}; there are {goal.replicas - 1} and {goal.sentinels - 1}"
            return [Reset(node, master, goal.quorum, why)]
    return []


def _conditions(goal: Goal, seen: Observation, found: Mastership, plan: Plan) -> dict[str, Verdict]:
    watching = _quorum(goal, seen, found)
    progress = _progress(goal, plan)
    return {
        "MasterAvailable": found.available,
        "SplitBrain": found.split,
        "SentinelQuorum": watching,
        "Progressing": progress,
        "Ready": _readiness(goal, seen, found, watching, progress),
    }


def _quorum(goal: Goal, seen: Observation, found: Mastership) -> Verdict:
    master = found.master.address if found.master is not None else goal.outside
    agreeing = len(seen.watching(master)) if master else len([one for one in seen.watchers if one.watches])
    told = f"{agreeing} of {goal.sentinels} sentinels watch the master, {goal.quorum} must agree"
    return Verdict(agreeing >= goal.quorum, "Agreed" if agreeing >= goal.quorum else "TooFew", told)


def _progress(goal: Goal, plan: Plan) -> Verdict:
    for action in plan.actions:
        match action:
            case Replace(node):
                return Verdict(True, "RollingUpdate", f"{node.pod} is replaced by a pod as it should be now")
            case Failover(why=why) | Promote(why=why):
                return Verdict(True, "ReplacingMaster", why)
            case Follow(node, master):
                return Verdict(True, "Joining", f"{node.pod} begins to follow {master}")
            case Accept(node) | Link(node) | Tell(node) | Require(node):
                return Verdict(True, "ChangingPassword", f"{node.pod} gets the password of the Secret")
            case Configure() | Monitor() | Release() | Adjust() | Reset():
                continue
    if goal.stays < goal.replicas:
        told = f"{goal.stays} of {goal.replicas} servers are to stay, and the master is not among them yet"
        return Verdict(True, "ScalingDown", told)
    return Verdict(bool(plan.actions), *(("Adjusting", "settings change") if plan.actions else ("AsAsked", "")))


def _readiness(goal: Goal, seen: Observation, found: Mastership, watching: Verdict, progress: Verdict) -> Verdict:
    """Tell the first reason for which it is not ready."""
    problems = [f"{node.pod}: {node.problem}" for node in seen.redis if node.problem]
    if found.split.status is not False:
        return Verdict(False, found.split.reason, found.split.message)
    if any(node.problem.startswith(REFUSED) for node in seen.redis):
        told = "the Secret may have been replaced: add the password that they were started with as its key 'previous'"
        return Verdict(False, "WrongPassword", f"{'; '.join(problems)}; {told}")
    if found.master is None:
        return Verdict(False, found.available.reason, found.available.message)
    if len(seen.answering) < goal.replicas:
        told = "; ".join(problems) or "pods are yet to come"
        return Verdict(False, "ServersMissing", f"{len(seen.answering)} of {goal.replicas} servers answer: {told}")
    behind = [node.pod for node in seen.answering if node.role == "slave" and not node.is_synced]
    if behind:
        return Verdict(False, "NotSynced", f"{', '.join(behind)} do not have all of the data yet")
    if not watching.status:
        return Verdict(False, "SentinelsMissing", watching.message)
    if progress.status:
        return Verdict(False, progress.reason, progress.message)
    return Verdict(True, "Replicating", f"{found.master.pod} and {goal.replicas - 1} replicas have the data")
