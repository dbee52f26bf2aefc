"""Decide the next actions from the goal and the observed state: pure functions on plain data.

The order matters: first the master is selected, then all other servers follow it, then the sentinels monitor it, and
last comes a rolling update. Each stage waits until the ones before it have nothing to do. Settings are changed at any
time, because they do not interfere.
"""

from dataclasses import replace

from redisfailover.actions import (
    AcceptPassword,
    Action,
    Configure,
    Failover,
    Fence,
    Follow,
    Monitor,
    Promote,
    ReplacePod,
    RequirePassword,
    Reset,
    SetSentinelOptions,
    SetSentinelPassword,
    StopMonitoring,
    UsePassword,
)
from redisfailover.master_selection import MasterSelection, select_master
from redisfailover.observation import Address, Goal, Observation, RedisNode, Role, SentinelNode
from redisfailover.passwords import password_steps
from redisfailover.plan import ConditionState, Plan
from redisfailover.users import user_steps

#: Prefix of the problem of a server that does not accept the password.
REFUSED = "refuses the password"


def decide(goal: Goal, seen: Observation) -> Plan:
    """Return the next actions and the conditions; a pure function that depends on no earlier decision."""
    found = select_master(goal, seen)
    configure = tuple(Configure(node, settings) for node in seen.answering if (settings := _settings(goal, node)))
    # Passwords come first: a server with a wrong one can neither replicate nor be monitored.
    actions = (*password_steps(goal, seen), *found.actions, *configure, *user_steps(seen))
    plan = Plan(master=found.master, actions=actions, roles=_roles(seen, found.master))
    if found.master is not None and found.master.address is not None and not seen.is_failing_over:
        plan = _align_with_master(goal, seen, found.master, found.master.address, plan)
    elif goal.external_master is not None:
        plan = replace(plan, actions=(*plan.actions, *_watch_external(goal, goal.external_master, seen)))
    is_calm = not any(isinstance(action, ReplacePod | Failover | Reset) for action in plan.actions)
    if is_calm and (found.master is not None or not seen.answering):
        plan = replace(plan, actions=(*plan.actions, *_replace_stuck(seen)))
    return replace(plan, conditions=_conditions(goal, seen, found, plan))


def _settings(goal: Goal, node: RedisNode) -> dict[str, str]:
    """Return the settings to change in a server. A master to be removed keeps its fence: it may be handing over."""
    is_going = (
        node.role == "master" and goal.replicas > 1 and (not node.is_current or node.ordinal >= goal.final_replicas)
    )
    if node.write_quorum == goal.write_quorum or is_going:
        return dict(node.drift)
    return {**node.drift, "min-replicas-to-write": str(goal.write_quorum)}


def _align_with_master(goal: Goal, seen: Observation, master: RedisNode, address: Address, plan: Plan) -> Plan:
    """Add the actions that make replicas and sentinels follow the master, then those of a rolling update."""
    lost = [node for node in seen.answering if node.role == "slave" and node.follows != address]
    follow = tuple(Follow(node, address) for node in lost)
    watch = tuple(_sentinel_steps(goal, seen, address))
    plan = replace(plan, actions=(*plan.actions, *follow, *watch))
    if plan.actions or not _is_complete(goal, seen, master):
        return plan
    return replace(plan, actions=tuple(_rollout(goal, seen, master)))


def _roles(seen: Observation, master: RedisNode | None) -> dict[str, Role]:
    """Return the role label of each pod; none while the master is unknown, so that clients stay connected."""
    if master is None:
        return {}
    return {node.pod: "master" if node is master else "slave" for node in seen.redis}


def _is_complete(goal: Goal, seen: Observation, master: RedisNode) -> bool:
    """Return whether all servers respond and all replicas are in sync."""
    replicas = [node for node in seen.answering if node is not master]
    return len(seen.answering) >= goal.replicas == len(replicas) + 1 and all(node.is_synced for node in replicas)


def _rollout(goal: Goal, seen: Observation, master: RedisNode) -> list[Action]:
    """Replace one outdated pod: replicas first; the master hands over before its pod is replaced."""
    outdated = [node for node in seen.redis if not node.is_current]
    replicas = sorted((node for node in outdated if node is not master), key=lambda node: -node.ordinal)
    if replicas:
        return [ReplacePod(replicas[0])]
    if not outdated and master.ordinal < goal.final_replicas:
        return []
    if goal.replicas == 1:
        return [ReplacePod(master)]
    return _handover(goal, seen, master)


def _handover(goal: Goal, seen: Observation, master: RedisNode) -> list[Action]:
    """Make another server master, by a failover of the sentinels, once all of them know every replica."""
    informed = [node for node in seen.watching(master.address) if node.replicas == goal.replicas - 1]
    if len(informed) < goal.quorum or len(informed) < len(seen.watchers):
        return []
    replicas = tuple(node for node in seen.answering if node is not master)
    best = max(replicas, key=lambda node: node.recency)
    why = f"the pod of the master {master.pod} must be replaced or removed"
    fence = Fence(master, replicas, write_quorum=max(len(replicas), goal.write_quorum))
    return [Failover(informed[0], best, why, fence)]


def _replace_stuck(seen: Observation) -> list[Action]:
    """Replace one pod that cannot start and whose template has changed since: waiting would not help it."""
    stuck = [node for node in seen.redis if node.is_stuck and not node.is_current and node.role is None]
    return [ReplacePod(max(stuck, key=lambda node: node.ordinal))] if stuck else []


def _watch_external(goal: Goal, external: Address, seen: Observation) -> list[Action]:
    """Make sentinels monitor the external master, or none: a master that became a replica looks down to them."""
    if goal.watches_external:
        return [Monitor(node, external, goal.quorum) for node in seen.watchers if node.watches != external]
    return [StopMonitoring(node) for node in seen.watchers if node.watches is not None]


def _sentinel_steps(goal: Goal, seen: Observation, master: Address) -> list[Action]:
    """Make every sentinel monitor the master with the wanted options, and forget removed servers and sentinels."""
    steps: list[Action] = []
    for node in seen.watchers:
        if node.watches != master:
            steps.append(Monitor(node, master, goal.quorum))
        elif options := _options(goal, node):
            steps.append(SetSentinelOptions(node, options))
    return steps or _reset_outdated(goal, seen, master)


def _options(goal: Goal, node: SentinelNode) -> dict[str, str]:
    quorum = {"quorum": str(goal.quorum)} if node.quorum != goal.quorum else {}
    return {**node.drift, **quorum}


def _reset_outdated(goal: Goal, seen: Observation, master: Address) -> list[Action]:
    """Reset one sentinel that knows removed replicas or sentinels, while all others can act without it."""
    all_there = len(seen.watchers) == goal.sentinels and len(seen.answering) == goal.replicas == len(seen.redis)
    known = [(node.replicas - (goal.replicas - 1), node.others - (goal.sentinels - 1)) for node in seen.watchers]
    if not all_there or any(replicas < 0 or others < 0 for replicas, others in known):
        return []
    for node, surplus in zip(seen.watchers, known, strict=True):
        if any(surplus):
            message = f"{node.pod} knows {node.replicas} replicas and {node.others} other sentinels"
            why = f"{message}; there are {goal.replicas - 1} and {goal.sentinels - 1}"
            return [Reset(node, master, goal.quorum, why)]
    return []


def _conditions(goal: Goal, seen: Observation, found: MasterSelection, plan: Plan) -> dict[str, ConditionState]:
    watching = _quorum(goal, seen, found)
    progress = _progress(goal, plan)
    return {
        "MasterAvailable": found.available,
        "SplitBrain": found.split,
        "SentinelQuorum": watching,
        "Progressing": progress,
        "Ready": _readiness(goal, seen, found, watching, progress),
    }


def _quorum(goal: Goal, seen: Observation, found: MasterSelection) -> ConditionState:
    master = found.master.address if found.master is not None else goal.external_master
    agreeing = len(seen.watching(master)) if master else len([one for one in seen.watchers if one.watches])
    message = f"{agreeing} of {goal.sentinels} sentinels monitor the master, {goal.quorum} must agree"
    return ConditionState(agreeing >= goal.quorum, "Agreed" if agreeing >= goal.quorum else "TooFew", message)


def _progress(goal: Goal, plan: Plan) -> ConditionState:
    for action in plan.actions:
        match action:
            case ReplacePod(node):
                return ConditionState(
                    True, "RollingUpdate", f"{node.pod} is being replaced by a pod of the current template"
                )
            case Failover(why=why) | Promote(why=why):
                return ConditionState(True, "ReplacingMaster", why)
            case Follow(node, master):
                return ConditionState(True, "Joining", f"{node.pod} starts to follow {master}")
            case AcceptPassword(node) | UsePassword(node) | SetSentinelPassword(node) | RequirePassword(node):
                return ConditionState(True, "ChangingPassword", f"{node.pod} gets the password of the Secret")
            case _:
                continue  # settings, users and sentinels are adjusted at any time
    if goal.final_replicas < goal.replicas:
        message = (
            f"scaling from {goal.replicas} to {goal.final_replicas} servers; the master must move to one that stays"
        )
        return ConditionState(True, "ScalingDown", message)
    return ConditionState(
        bool(plan.actions), *(("Adjusting", "settings are being changed") if plan.actions else ("AsAsked", ""))
    )


def _readiness(
    goal: Goal, seen: Observation, found: MasterSelection, watching: ConditionState, progress: ConditionState
) -> ConditionState:
    """Return the first reason why it is not ready."""
    problems = [f"{node.pod}: {node.problem}" for node in seen.redis if node.problem]
    if found.split.status is not False:
        return ConditionState(False, found.split.reason, found.split.message)
    if any(node.problem.startswith(REFUSED) for node in seen.redis):
        message = (
            "the Secret may have been replaced: add the password that they were started with as its key 'previous'"
        )
        return ConditionState(False, "WrongPassword", f"{'; '.join(problems)}; {message}")
    if found.master is None:
        return ConditionState(False, found.available.reason, found.available.message)
    if len(seen.answering) < goal.replicas:
        message = "; ".join(problems) or "their pods do not exist yet"
        return ConditionState(
            False, "ServersMissing", f"{len(seen.answering)} of {goal.replicas} servers respond: {message}"
        )
    behind = [node.pod for node in seen.answering if node.role == "slave" and not node.is_synced]
    if behind:
        return ConditionState(False, "NotSynced", f"{', '.join(behind)} not in sync yet")
    if not watching.status:
        return ConditionState(False, "SentinelsMissing", watching.message)
    if progress.status:
        return ConditionState(False, progress.reason, progress.message)
    return ConditionState(True, "Replicating", f"{found.master.pod} and {goal.replicas - 1} replicas are in sync")
