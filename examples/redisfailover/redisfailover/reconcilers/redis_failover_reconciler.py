"""The reconciler of RedisFailover: apply the objects, observe, decide, and execute the next actions.

No state is kept between reconciles. The decisions are in ``decision`` and ``master_selection``.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from steersman import Context, Permanent
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import ConfigMap, Pod
from steersman.objects import ScheduleError

from redisfailover.actions import (
    Action,
    Configure,
    Failover,
    Monitor,
    Promote,
    ReplacePod,
    RequirePassword,
    Reset,
    SetSentinelPassword,
)
from redisfailover.api.redis_failover_v1 import BackupRecord, BackupSettings, RedisFailover
from redisfailover.backup_runner import BackupRunner, Failed
from redisfailover.backups import due_at, file_name, seconds_until, surplus
from redisfailover.children import config_map_of, deployment_of, services_of, stateful_set_of
from redisfailover.decision import decide
from redisfailover.discovery import goal_of, redis_node, seconds_since, sentinel_node, unknown_fields
from redisfailover.names import ROLE, labels_of, redis_name
from redisfailover.observation import Observation, RedisNode, SentinelNode
from redisfailover.passwords import PasswordRecord, is_password_changed
from redisfailover.plan import ConditionState, Plan
from redisfailover.server_access import read_server_access, save_password_record, save_users
from redisfailover.servers import Rejected, ServerAccess, Servers, Unreachable
from redisfailover.settings import reserved_in

#: Seconds until the next reconcile: sentinels do not notify the operator, so it always polls.
SOON, LATER = 0.5, 2.0
_FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class RedisFailoverReconciler:
    """Reconciles RedisFailovers."""

    servers: Servers
    runner: BackupRunner
    #: Folder for backups, if there is one.
    backups: Path | None
    #: Called with the name of each executed action.
    count: Callable[[str], object]

    async def reconcile(self, failover: RedisFailover, ctx: Context[RedisFailover]) -> None:
        """Apply the owned objects, then execute the next actions for what was observed."""
        if reserved := reserved_in(failover.spec.redis.custom_config):
            raise Permanent("ReservedSetting", f"customConfig cannot set {', '.join(reserved)}: the operator sets it")
        if unknown := unknown_fields(failover):
            raise Permanent("UnknownField", f"{', '.join(unknown)}: unknown field, or invalid value")
        pods = await _pods(failover, "redis", ctx)
        goal = goal_of(failover, pods)
        stateful_set = await _apply_objects(failover, goal.replicas, ctx)
        found = await read_server_access(failover, ctx)
        if found is None:
            ctx.requeue_after(LATER)
            return
        access, record = found
        seen = await self._observe(failover, pods, stateful_set, found, ctx)
        plan = decide(goal, seen)
        plan, done = await self._execute(failover, plan, pods, access, ctx)
        informed = [one.node for one in done if isinstance(one, SetSentinelPassword | Monitor | Reset)]
        await save_password_record(
            failover, ctx, record.after(seen, informed, access.password, is_password_changed(goal, seen))
        )
        is_accepted = bool(seen.answering) and not any(node.missing_users for node in seen.answering)
        await save_users(failover, ctx, access.users.after(goal, seen), is_accepted=is_accepted)
        if not any(node.drift for node in seen.answering):
            # A server reads it at its start, so it must have no setting that running servers reject.
            await ctx.apply(config_map_of(failover))
        await _label(plan, pods, ctx)
        _update_status(failover, plan, seen, ctx)
        await self._back_up(failover, seen, access, ctx)
        ctx.requeue_after(LATER if plan.is_settled or plan.is_rejected else SOON)

    async def _observe(
        self,
        failover: RedisFailover,
        pods: list[Pod],
        stateful_set: StatefulSet,
        found: tuple[ServerAccess, PasswordRecord],
        ctx: Context[RedisFailover],
    ) -> Observation:
        """Query all servers and sentinels concurrently."""
        access, record = found
        redis = [redis_node(pod, stateful_set, failover.spec.redis.port) for pod in pods]
        sentinels = [
            record.with_password_state(sentinel_node(pod), access.password)
            for pod in await _pods(failover, "sentinel", ctx)
        ]
        async with asyncio.TaskGroup() as tasks:
            servers = [tasks.create_task(self.servers.inspect(node, access), name=node.pod) for node in redis]
            watchers = [
                tasks.create_task(self.servers.inspect_sentinel(one, access), name=one.pod) for one in sentinels
            ]
        status, now = failover.status, ctx.now()
        split = status.condition("SplitBrain")
        return Observation(
            redis=tuple(task.result() for task in servers),
            sentinels=tuple(task.result() for task in watchers),
            last_history=status.replication_id,
            seconds_without_master=seconds_since(status.condition("MasterAvailable"), {"False"}, now),
            # A reported split brain lasts until there is one master.
            seconds_with_several_masters=_FOREVER
            if split and split.status == "True"
            else seconds_since(split, {"Unknown"}, now),
        )

    async def _execute(
        self, failover: RedisFailover, plan: Plan, pods: list[Pod], access: ServerAccess, ctx: Context[RedisFailover]
    ) -> tuple[Plan, list[Action]]:
        """Execute the actions in order and return those that succeeded; the next reconcile repeats failed ones."""
        rejected: list[str] = []
        done: list[Action] = []
        for action in plan.actions:
            try:
                if isinstance(action, ReplacePod):
                    await _replace(action, pods, ctx)
                else:
                    await self.servers.execute(action, access)
            except Rejected as error:
                rejected.append(str(error))
                continue
            except Unreachable as error:
                ctx.log.info("an action failed", extra={"action": type(action).__name__, "error": str(error)})
                break
            done.append(action)
            self.count(type(action).__name__)
            _emit_event(action, ctx)
        if not rejected:
            return plan, done
        message = f"Redis rejects {'; '.join(dict.fromkeys(rejected))}"
        before = failover.status.condition("Ready")
        if before is None or before.message != message:
            ctx.event("ConfigRejected", message, kind="Warning")
        return plan.with_conditions(Ready=ConditionState(False, "ConfigRejected", message)), done

    async def _back_up(
        self, failover: RedisFailover, seen: Observation, access: ServerAccess, ctx: Context[RedisFailover]
    ) -> None:
        """Make the backup that is due, from the replica with the newest data."""
        backup = failover.spec.backup
        if backup is None:
            failover.status.conditions = [one for one in failover.status.conditions if one.type != "BackupHealthy"]
            return
        try:
            wait = seconds_until(backup.schedule, ctx.now())
            last = failover.status.last_backup
            begin = last.scheduled if last is not None else failover.metadata.creation_timestamp or ctx.now()
            due = due_at(backup.schedule, begin, ctx.now())
        except ScheduleError as error:
            ctx.condition("BackupHealthy", False, "BadSchedule", f"spec.backup.schedule: {error}")
            return
        if self.backups is None:
            message = "the operator has no folder for backups: set REDISFAILOVER_BACKUPS"
            ctx.condition("BackupHealthy", False, "NoFolder", message)
        elif due is not None:
            target = self.backups / file_name(failover.namespace, failover.name, due)
            await self._save(failover, backup, seen, target, access, ctx)
        elif failover.status.last_backup is None:
            ctx.condition("BackupHealthy", None, "NotDue", "no backup was due yet")
        if wait is not None:
            ctx.requeue_after(wait)

    async def _save(
        self,
        failover: RedisFailover,
        backup: BackupSettings,
        seen: Observation,
        target: Path,
        access: ServerAccess,
        ctx: Context[RedisFailover],
    ) -> None:
        replicas = [node for node in seen.answering if node.role == "slave" and node.is_synced]
        source = max(replicas, key=lambda node: node.recency, default=None)
        if source is None or source.address is None:
            ctx.condition("BackupHealthy", False, "NoReplica", "no replica is in sync")
            return
        work = partial(self.servers.save, source.address, target, replace(access, password=source.password))
        saved = self.runner.request(target.name, work)
        if saved is None:
            ctx.condition("BackupHealthy", None, "BackupRunning", f"{target.name} is being made from {source.pod}")
            return
        if isinstance(saved, Failed):
            if ctx.condition("BackupHealthy", False, "BackupFailed", saved.problem):
                ctx.event("BackupFailed", saved.problem, kind="Warning")
            return
        names = [one.name for one in target.parent.iterdir()]
        for name in surplus(names, failover.namespace, failover.name, backup.keep):
            (target.parent / name).unlink(missing_ok=True)
        failover.status.last_backup = BackupRecord(
            file=target.name,
            sha256=saved.sha256,
            size_bytes=saved.size_bytes,
            source=source.pod,
            scheduled=ctx.now().replace(microsecond=0),
        )
        message = f"{target.name}: {saved.size_bytes} bytes"
        ctx.condition("BackupHealthy", True, "BackupSucceeded", message)
        ctx.event("BackupSucceeded", message)


async def _apply_objects(failover: RedisFailover, replicas: int, ctx: Context[RedisFailover]) -> StatefulSet:
    for child in services_of(failover):
        await ctx.apply(child)
    if await ctx.get(ConfigMap, redis_name(failover.name)) is None:
        await ctx.apply(config_map_of(failover))
    await ctx.apply(deployment_of(failover))
    wanted = stateful_set_of(failover)
    wanted.spec.replicas = replicas
    return await ctx.apply(wanted)


async def _pods(failover: RedisFailover, component: str, ctx: Context[RedisFailover]) -> list[Pod]:
    selector = ",".join(f"{key}={value}" for key, value in labels_of(failover.name, component).items())
    return sorted(await ctx.list(Pod, selector), key=lambda pod: pod.name)


async def _replace(action: ReplacePod, pods: list[Pod], ctx: Context[RedisFailover]) -> None:
    for pod in pods:
        if pod.name == action.node.pod:
            await ctx.delete(pod)


async def _label(plan: Plan, pods: list[Pod], ctx: Context[RedisFailover]) -> None:
    """Set the role labels that Services select by; former masters first, so that there are never two."""
    for pod in sorted(pods, key=lambda pod: plan.roles.get(pod.name) == "master"):
        role = plan.roles.get(pod.name)
        if role is not None and pod.labels.get(ROLE) != role and not pod.is_deleting:
            await ctx.patch(pod, {"metadata": {"labels": {ROLE: role}}})


def _emit_event(action: Action, ctx: Context[RedisFailover]) -> None:
    match action:
        case Promote(node, why):
            ctx.event("MasterPromoted", f"{node.pod}: {why}")
        case Failover(node, _, why):
            ctx.event("FailoverRequested", f"requested from {node.pod}: {why}")
        case Configure(node, settings):
            ctx.event(
                "ConfigApplied", f"{node.pod}: {', '.join(f'{name} {value}' for name, value in settings.items())}"
            )
        case Reset(why=why):
            ctx.event("SentinelReset", why)
        case ReplacePod(node):
            ctx.event("RollingUpdate", f"{node.pod} is replaced")
        case RequirePassword(node):
            ctx.event("PasswordChanged", f"{node.pod} accepts only the password of the Secret")
        case _:
            return


def _update_status(failover: RedisFailover, plan: Plan, seen: Observation, ctx: Context[RedisFailover]) -> None:
    status, master = failover.status, plan.master
    if master is not None and status.master and status.master != master.pod:
        ctx.event("FailoverObserved", f"{master.pod} is the new master, after {status.master}")
    for name, verdict in plan.conditions.items():
        ctx.condition(name, verdict.status, verdict.reason, verdict.message)
    status.master = master.pod if master is not None else status.master
    status.replication_id = master.history if master is not None else status.replication_id
    status.replicas = _names([node for node in seen.answering if node.role == "slave"])
    status.sentinels = _names([*seen.watchers])
    status.observed_generation = failover.generation


def _names(nodes: list[RedisNode] | list[SentinelNode]) -> list[str]:
    return sorted(node.pod for node in nodes)
