"""The reconciler of Mgors: observe, decide on one action, report, apply, execute."""

import os
from dataclasses import dataclass

from steersman import Context, Retry
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod
from steersman.protocol import DeleteOptions

from mgors.access import SecretError, ensure_access, ensure_keyfile, rotate_keyfile
from mgors.actions import NoAction
from mgors.api.mgors_v1 import Mgors
from mgors.backups import run_backup_schedule
from mgors.connections import Connector, Dial, MemberError, fenced
from mgors.disks import delete_disks, grow_disks
from mgors.execution import Executor
from mgors.history import record_initiation
from mgors.keyfile import Keyfile, is_settled
from mgors.metrics import Metrics
from mgors.names import arbiters_name, selector_of
from mgors.objects import arbiters_of, budget_of, members_of, service_of
from mgors.observation import observe
from mgors.plan import arbiters_needed, decide, pods_needed
from mgors.pod_template import Revision
from mgors.settings import Settings
from mgors.situation import Situation
from mgors.status_report import report, report_image, report_unreachable
from mgors.upgrades import upgrade_problem

#: Seconds for an orderly shutdown of a deleted set. Then all pods are deleted at once.
_SHUTDOWN_LIMIT = 120.0


@dataclass(frozen=True, slots=True)
class MgorsReconciler:
    """Reconciles replica sets."""

    dial: Dial
    metrics: Metrics

    async def reconcile(self, mgors: Mgors, ctx: Context[Mgors]) -> None:
        """Bring a replica set one action closer to its spec."""
        settings = Settings.read(os.environ)
        try:
            connector = Connector(await ensure_keyfile(mgors, ctx), fenced(ctx), self.dial)
        except SecretError as error:
            report_unreachable(mgors, ctx, error.reason, str(error))
            ctx.requeue_after(settings.look_again)
            return
        situation = await observe(mgors, ctx, connector, settings)
        action = decide(situation)
        report(mgors, ctx, situation, action, self.metrics)
        await _apply(mgors, ctx, situation, connector.keyfile)
        await ensure_access(mgors, ctx, situation, connector)
        try:
            await Executor(mgors, ctx, settings, connector).execute(action, situation)
            if is_settled(situation, action):
                await rotate_keyfile(mgors, ctx, situation, connector)
        except (MemberError, SecretError) as error:
            raise Retry(str(error), after=settings.look_again) from None
        await run_backup_schedule(mgors, ctx, self.metrics)
        is_quiet = isinstance(action, NoAction) and not connector.keyfile.is_rotating
        ctx.requeue_after(settings.look_every if is_quiet else settings.look_again)

    async def cleanup(self, mgors: Mgors, ctx: Context[Mgors]) -> None:
        """Delete the primary last, so that the others have all its data; wait for a broken set only briefly."""
        for stateful_set in ctx.owned(StatefulSet):
            if not stateful_set.is_deleting:
                options = DeleteOptions(propagation_policy="Orphan")
                await ctx.client.delete(stateful_set, options=options, missing_ok=True)
        pods = await ctx.list(Pod, selector_of(mgors))
        is_late = (ctx.now() - (mgors.metadata.deletion_timestamp or ctx.now())).total_seconds() > _SHUTDOWN_LIMIT
        last = [pod for pod in pods if pod.name == mgors.status.last_primary and not is_late]
        for pod in [pod for pod in pods if pod not in last] or last:
            if not pod.is_deleting:
                await ctx.delete(pod)
        if pods and not is_late:
            raise Retry(f"waiting for {', '.join(pod.name for pod in pods)} to end", after=1)
        await delete_disks(mgors, ctx, range(max(mgors.spec.members, mgors.status.members)))
        self.metrics.forget(mgors)


async def _apply(mgors: Mgors, ctx: Context[Mgors], situation: Situation, keyfile: Keyfile) -> None:
    """Apply the objects of the set. Pods stay until their members have left the configuration."""
    await ctx.apply(service_of(mgors))
    await ctx.apply(budget_of(mgors, can_lose_one=situation.can_lose_one))
    existing = {found.name: found for found in ctx.owned(StatefulSet)}
    running = {name: found.spec.replicas or 0 for name, found in existing.items()}
    needed = pods_needed(situation, members=mgors.spec.members, running=running.get(mgors.name, 0))
    revision = _revision(mgors, ctx, existing.get(mgors.name), keyfile)
    await ctx.apply(members_of(mgors, needed, revision, existing.get(mgors.name)))
    await grow_disks(mgors, ctx, needed)
    if mgors.spec.arbiters or arbiters_name(mgors) in running:
        arbiters = arbiters_needed(situation, mgors.spec.arbiters, running.get(arbiters_name(mgors), 0))
        await ctx.apply(arbiters_of(mgors, arbiters, revision))
    if situation.config is not None:
        await record_initiation(mgors, ctx, situation.config)
    if not mgors.spec.pause:
        await delete_disks(mgors, ctx, range(needed, max(needed, running.get(mgors.name, 0)) + 1))


def _revision(mgors: Mgors, ctx: Context[Mgors], existing: StatefulSet | None, keyfile: Keyfile) -> Revision:
    """Return what the pod template gets. An image that the data does not allow is not used."""
    image = mgors.spec.image
    problem = upgrade_problem(image, mgors.status.feature_compatibility_version)
    if problem and existing is not None and existing.spec.template.spec is not None:
        image = existing.spec.template.spec.containers[0].image or image
    report_image(mgors, ctx, problem)
    return Revision(image=image, keyfile=keyfile.mark)
