"""What the operator does for a Mgors: it looks, decides on one thing, does it, and tells."""

import os
from dataclasses import dataclass

from steersman import Context, Retry, meta
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import ConfigMap, Pod
from steersman.protocol import DeleteOptions

from mgors.access import ensure_admin, ensure_keyfile, give_access
from mgors.acting import Hands, act
from mgors.actions import Rest
from mgors.api.mgors_v1 import Mgors
from mgors.backups import keep_backups
from mgors.connections import CarryOut, Door, MemberError
from mgors.disks import drop_disks
from mgors.members import FIRST_ARBITER
from mgors.numbers import Numbers
from mgors.objects import arbiters_name, arbiters_of, members_of, selector_of, service_of
from mgors.observation import history_name, observe
from mgors.plan import Situation, decide, pods_needed
from mgors.settings import Settings
from mgors.telling import tell

#: Seconds that the members of a set that is deleted have to end in order. Then they end as they are.
_FAREWELL = 120.0


@dataclass(frozen=True, slots=True)
class MgorsReconciler:
    """Reconciles replica sets."""

    carry_out: CarryOut
    numbers: Numbers

    async def reconcile(self, mgors: Mgors, ctx: Context[Mgors]) -> None:
        """Bring a replica set one step nearer to what its object says."""
        settings = Settings.read(os.environ)
        door, admin = Door(await ensure_keyfile(mgors, ctx), self.carry_out), await ensure_admin(mgors, ctx)
        situation = await observe(mgors, ctx, door, settings)
        action = decide(situation)
        await _apply(mgors, ctx, situation)
        tell(mgors, ctx, situation, action, self.numbers)
        await give_access(mgors, ctx, situation, admin, door)
        try:
            await act(action, situation, Hands(mgors, ctx, settings, door))
        except MemberError as error:
            raise Retry(str(error), after=settings.look_again) from None
        await keep_backups(mgors, ctx, self.numbers)
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
        self.numbers.forget(mgors)


async def _apply(mgors: Mgors, ctx: Context[Mgors], situation: Situation) -> None:
    """Apply what the set consists of. Pods that still belong to it are kept until they do not."""
    await ctx.apply(service_of(mgors))
    running = {found.name: found.spec.replicas or 0 for found in ctx.owned(StatefulSet)}
    needed = pods_needed(situation, members=mgors.spec.members, running=running.get(mgors.name, 0))
    await ctx.apply(members_of(mgors, needed))
    arbiters, listed = mgors.spec.arbiters, situation.config.members if situation.config else ()
    if any(member.number >= FIRST_ARBITER for member in listed):
        arbiters = max(arbiters, running.get(arbiters_name(mgors), 0))
    if arbiters or arbiters_name(mgors) in running:
        await ctx.apply(arbiters_of(mgors, 0 if mgors.spec.pause else arbiters))
    if situation.config is not None:
        await ctx.apply(ConfigMap(meta(history_name(mgors)), data={"replicaSetId": situation.config.set_id}))
    if not mgors.spec.pause:
        await drop_disks(mgors, ctx, range(needed, max(needed, running.get(mgors.name, 0)) + 1))
