"""Reconciles a Mgors: observe, decide on one action, report, apply, execute."""

import os
from dataclasses import dataclass

from steersman import Context, Retry
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod
from steersman.protocol import DeleteOptions

from mgors.access import SecretError, ensure_keyfile, give_access
from mgors.actions import Rest
from mgors.api.mgors_v1 import Mgors
from mgors.backups import keep_backups
from mgors.connections import Connector, Dial, MemberError, fenced
from mgors.disks import drop_disks, grow_disks
from mgors.execution import Executor
from mgors.history import remember_initiated
from mgors.metrics import Metrics
from mgors.objects import arbiters_name, arbiters_of, members_of, selector_of, service_of
from mgors.observation import observe
from mgors.plan import arbiters_needed, decide, pods_needed
from mgors.settings import Settings
from mgors.situation import Situation
from mgors.status_report import report, report_blind

#: Seconds that the members of a set that is deleted have to end in order. Then they end as they are.
_FAREWELL = 120.0


@dataclass(frozen=True, slots=True)
class MgorsReconciler:
    """Reconciles replica sets."""

    dial: Dial
    metrics: Metrics

    async def reconcile(self, mgors: Mgors, ctx: Context[Mgors]) -> None:
        """Bring a replica set one step nearer to what its object says."""
        settings = Settings.read(os.environ)
        try:
            connector = Connector(await ensure_keyfile(mgors, ctx), fenced(ctx), self.dial)
        except SecretError as error:
            report_blind(mgors, ctx, error.reason, str(error))
            ctx.requeue_after(settings.look_again)
            return
        situation = await observe(mgors, ctx, connector, settings)
        action = decide(situation)
        report(mgors, ctx, situation, action, self.metrics)
        await _apply(mgors, ctx, situation)
        await give_access(mgors, ctx, situation, connector)
        try:
            await Executor(mgors, ctx, settings, connector).execute(action, situation)
        except MemberError as error:
            raise Retry(str(error), after=settings.look_again) from None
        await keep_backups(mgors, ctx, self.metrics)
        ctx.requeue_after(settings.look_every if isinstance(action, Rest) else settings.look_again)

    async def cleanup(self, mgors: Mgors, ctx: Context[Mgors]) -> None:
        """End the primary last, so that the others have all it has. A set that is broken keeps nobody waiting."""
        for stateful_set in ctx.owned(StatefulSet):
            if not stateful_set.is_deleting:
                options = DeleteOptions(propagation_policy="Orphan")
                await ctx.client.delete(stateful_set, options=options, missing_ok=True)
        pods = await ctx.list(Pod, selector_of(mgors))
        is_late = (ctx.now() - (mgors.metadata.deletion_timestamp or ctx.now())).total_seconds() > _FAREWELL
        last = [pod for pod in pods if pod.name == mgors.status.last_primary and not is_late]
        for pod in [pod for pod in pods if pod not in last] or last:
            if not pod.is_deleting:
                await ctx.delete(pod)
        if pods and not is_late:
            raise Retry(f"waiting for {', '.join(pod.name for pod in pods)} to end", after=1)
        await drop_disks(mgors, ctx, range(max(mgors.spec.members, mgors.status.members)))
        self.metrics.forget(mgors)


async def _apply(mgors: Mgors, ctx: Context[Mgors], situation: Situation) -> None:
    """Apply the objects of the set. Pods of members that are still in the configuration are kept until they are not."""
    await ctx.apply(service_of(mgors))
    existing = {found.name: found for found in ctx.owned(StatefulSet)}
    running = {name: found.spec.replicas or 0 for name, found in existing.items()}
    needed = pods_needed(situation, members=mgors.spec.members, running=running.get(mgors.name, 0))
    await ctx.apply(members_of(mgors, needed, existing.get(mgors.name)))
    await grow_disks(mgors, ctx, needed)
    if mgors.spec.arbiters or arbiters_name(mgors) in running:
        arbiters = arbiters_needed(situation, mgors.spec.arbiters, running.get(arbiters_name(mgors), 0))
        await ctx.apply(arbiters_of(mgors, arbiters))
    if situation.config is not None:
        await remember_initiated(mgors, ctx, situation.config)
    if not mgors.spec.pause:
        await drop_disks(mgors, ctx, range(needed, max(needed, running.get(mgors.name, 0)) + 1))
