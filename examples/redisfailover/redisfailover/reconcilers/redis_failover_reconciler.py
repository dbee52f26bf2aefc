"""What the operator does for a RedisFailover: it makes the objects, looks, decides, and takes the next steps.

Nothing is remembered from one run to the next. What is decided, and why, is in ``decision`` and ``mastership``.
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

from redisfailover.actions import Action, Configure, Failover, Monitor, Promote, Replace, Require, Reset, Tell
from redisfailover.api.redis_failover_v1 import BackupRecord, BackupSettings, RedisFailover
from redisfailover.backup_runner import BackupRunner, Failed
from redisfailover.backups import due_at, file_name, seconds_until, surplus
from redisfailover.children import config_map_of, deployment_of, services_of, stateful_set_of
from redisfailover.decision import decide
from redisfailover.looking import goal_of, redis_node, seconds_since, sentinel_node, unknown_fields
from redisfailover.names import ROLE, labels_of, redis_name
from redisfailover.observation import Observation, RedisNode, SentinelNode
from redisfailover.passwords import Record, is_changed_everywhere
from redisfailover.plan import Plan, Verdict
from redisfailover.servers import Rejected, Servers, Terms, Unreachable
from redisfailover.settings import reserved_in
from redisfailover.terms import find_terms, keep_record

#: Seconds until the next look: sentinels act without telling us, so there is always one.
SOON, LATER = 0.5, 2.0
_FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class RedisFailoverReconciler:
    """Reconciles RedisFailovers by way of their servers."""

    servers: Servers
    runner: BackupRunner
    #: The folder for backups, if there is one.
    backups: Path | None
    #: Told the name of each step that was taken.
    count: Callable[[str], object]

    async def reconcile(self, failover: RedisFailover, ctx: Context[RedisFailover]) -> None:
        """Make everything as the object says, as far as one look allows."""
        if reserved := reserved_in(failover.spec.redis.custom_config):
            raise Permanent("ReservedSetting", f"customConfig cannot set {', '.join(reserved)}: the operator does")
        if unknown := unknown_fields(failover):
            raise Permanent("UnknownField", f"{', '.join(unknown)}: there is no such field, or not with such a value")
        pods = await _pods(failover, "redis", ctx)
        goal = goal_of(failover, pods)
        stateful_set = await _apply_objects(failover, goal.replicas, ctx)
        found = await find_terms(failover, ctx)
        if found is None:
            ctx.requeue_after(LATER)
            return
        terms, record = found
        seen = await self._look(failover, pods, stateful_set, found, ctx)
        plan = decide(goal, seen)
        plan, done = await self._act(failover, plan, pods, terms, ctx)
        told = [one.node for one in done if isinstance(one, Tell | Monitor | Reset)]
        await keep_record(failover, ctx, record.after(seen, told, terms.password, is_changed_everywhere(goal, seen)))
        if not any(node.drift for node in seen.answering):
            # Whoever restarts reads this: it holds nothing that a running server would refuse.
            await ctx.apply(config_map_of(failover))
        await _label(plan, pods, ctx)
        _show(failover, plan, seen, ctx)
        await self._back_up(failover, seen, terms, ctx)
        ctx.requeue_after(LATER if plan.is_settled or plan.is_refused else SOON)

    async def _look(
        self,
        failover: RedisFailover,
        pods: list[Pod],
        stateful_set: StatefulSet,
        found: tuple[Terms, Record],
        ctx: Context[RedisFailover],
    ) -> Observation:
        """Ask everybody at the same time."""
        terms, record = found
        redis = [redis_node(pod, stateful_set, failover.spec.redis.port) for pod in pods]
        sentinels = [record.judge(sentinel_node(pod), terms.password) for pod in await _pods(failover, "sentinel", ctx)]
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(self.servers.look_at(node, terms), name=node.pod) for node in redis]
            heard = [tasks.create_task(self.servers.look_at_sentinel(one, terms), name=one.pod) for one in sentinels]
        status, now = failover.status, ctx.now()
        split = status.condition("SplitBrain")
        return Observation(
            redis=tuple(task.result() for task in asked),
            sentinels=tuple(task.result() for task in heard),
            last_history=status.replication_id,
            masterless_for=seconds_since(status.condition("MasterAvailable"), {"False"}, now),
            # Once it has been said it stays so until it is over.
            several_for=_FOREVER if split and split.status == "True" else seconds_since(split, {"Unknown"}, now),
        )

    async def _act(
        self, failover: RedisFailover, plan: Plan, pods: list[Pod], terms: Terms, ctx: Context[RedisFailover]
    ) -> tuple[Plan, list[Action]]:
        """Take the steps in order and return those that were taken; what fails is found again by the next look."""
        refused: list[str] = []
        done: list[Action] = []
        for action in plan.actions:
            try:
                if isinstance(action, Replace):
                    await _replace(action, pods, ctx)
                else:
                    await self.servers.act(action, terms)
            except Rejected as error:
                refused.append(str(error))
                continue
            except Unreachable as error:
                ctx.log.info("a step failed", extra={"step": type(action).__name__, "error": str(error)})
                break
            done.append(action)
            self.count(type(action).__name__)
            _tell(action, ctx)
        if not refused:
            return plan, done
        told = f"Redis does not accept {'; '.join(dict.fromkeys(refused))}"
        before = failover.status.condition("Ready")
        if before is None or before.message != told:
            ctx.event("ConfigRejected", told, kind="Warning")
        return plan.but(Ready=Verdict(False, "ConfigRejected", told)), done

    async def _back_up(
        self, failover: RedisFailover, seen: Observation, terms: Terms, ctx: Context[RedisFailover]
    ) -> None:
        """Make the backup that is due, from the replica that has most."""
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
            told = "the operator has no folder for backups: name one by REDISFAILOVER_BACKUPS"
            ctx.condition("BackupHealthy", False, "NoFolder", told)
        elif due is not None:
            target = self.backups / file_name(failover.namespace, failover.name, due)
            await self._save(failover, backup, seen, target, terms, ctx)
        elif failover.status.last_backup is None:
            ctx.condition("BackupHealthy", None, "NotDue", "none was due yet")
        if wait is not None:
            ctx.requeue_after(wait)

    async def _save(
        self,
        failover: RedisFailover,
        backup: BackupSettings,
        seen: Observation,
        target: Path,
        terms: Terms,
        ctx: Context[RedisFailover],
    ) -> None:
        replicas = [node for node in seen.answering if node.role == "slave" and node.is_synced]
        source = max(replicas, key=lambda node: node.newest, default=None)
        if source is None or source.address is None:
            ctx.condition("BackupHealthy", False, "NoReplica", "no replica has all of the data")
            return
        work = partial(self.servers.save, source.address, target, replace(terms, password=source.password))
        saved = self.runner.request(target.name, work)
        if saved is None:
            ctx.condition("BackupHealthy", None, "BackupRunning", f"{target.name} is made from {source.pod}")
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
        told = f"{target.name}: {saved.size_bytes} bytes"
        ctx.condition("BackupHealthy", True, "BackupSucceeded", told)
        ctx.event("BackupSucceeded", told)


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


async def _replace(action: Replace, pods: list[Pod], ctx: Context[RedisFailover]) -> None:
    for pod in pods:
        if pod.name == action.node.pod:
            await ctx.delete(pod)


async def _label(plan: Plan, pods: list[Pod], ctx: Context[RedisFailover]) -> None:
    """Let the services lead to the right pods; first away from those that are not masters any more."""
    for pod in sorted(pods, key=lambda pod: plan.roles.get(pod.name) == "master"):
        role = plan.roles.get(pod.name)
        if role is not None and pod.labels.get(ROLE) != role and not pod.is_deleting:
            await ctx.patch(pod, {"metadata": {"labels": {ROLE: role}}})


def _tell(action: Action, ctx: Context[RedisFailover]) -> None:
    match action:
        case Promote(node, why):
            ctx.event("MasterPromoted", f"{node.pod}: {why}")
        case Failover(node, _, why):
            ctx.event("FailoverRequested", f"{node.pod} was asked for another master: {why}")
        case Configure(node, settings):
            ctx.event(
                "ConfigApplied", f"{node.pod}: {', '.join(f'{name} {value}' for name, value in settings.items())}"
            )
        case Reset(why=why):
            ctx.event("SentinelReset", why)
        case Replace(node):
            ctx.event("RollingUpdate", f"{node.pod} is replaced")
        case Require(node):
            ctx.event("PasswordChanged", f"{node.pod} accepts the password of the Secret only")
        case _:
            return


def _show(failover: RedisFailover, plan: Plan, seen: Observation, ctx: Context[RedisFailover]) -> None:
    status, master = failover.status, plan.master
    if master is not None and status.master and status.master != master.pod:
        ctx.event("FailoverObserved", f"{master.pod} is the master, after {status.master}")
    for name, verdict in plan.conditions.items():
        ctx.condition(name, verdict.status, verdict.reason, verdict.message)
    status.master = master.pod if master is not None else status.master
    status.replication_id = master.history if master is not None else status.replication_id
    status.replicas = _names([node for node in seen.answering if node.role == "slave"])
    status.sentinels = _names([*seen.watchers])
    status.observed_generation = failover.generation


def _names(nodes: list[RedisNode] | list[SentinelNode]) -> list[str]:
    return sorted(node.pod for node in nodes)
