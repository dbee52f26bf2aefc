"""The reconciler of Mgors: observe, decide on one action, report, apply, execute."""

import os
from dataclasses import dataclass

from steersman import Context, Retry
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod
from steersman.protocol import DeleteOptions

from mgors.access import SecretError, ensure_access, ensure_keyfile, rotate_keyfile
from mgors.actions import NoAction
from mgors.api.mgors_v1 import Mgors, TlsMode
from mgors.archives import ensure_archive
from mgors.backups import run_backup_schedule
from mgors.certificates import CertificateError, CertificateRotation, ensure_certificate, publish_authority
from mgors.connections import Connector, Dial, MemberError
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
from mgors.tls import ServerCertificate, Trust, ignores_hostnames, next_mode, template_mode, uses_tls, wanted_tls
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
            keyfile = await ensure_keyfile(mgors, ctx)
            tls = await _tls(mgors, ctx, settings)
        except (SecretError, CertificateError) as error:
            report_unreachable(mgors, ctx, error.reason, str(error))
            ctx.requeue_after(settings.look_again)
            return
        connector = Connector(keyfile, ctx.external_writer("mongodb"), self.dial, tls.trust)
        situation = await observe(mgors, ctx, connector, settings)
        action = decide(situation)
        report(mgors, ctx, situation, action, self.metrics)
        await _apply(mgors, ctx, situation, _revision(mgors, ctx, keyfile, tls))
        await ensure_access(mgors, ctx, situation, connector)
        try:
            await Executor(mgors, ctx, settings, connector).execute(action, situation)
            if tls.certificate is not None and tls.trust is not None:
                await CertificateRotation(mgors, ctx, settings, connector).step(situation, tls.certificate)
            if is_settled(situation, action):
                await rotate_keyfile(mgors, ctx, situation, connector)
        except (MemberError, SecretError) as error:
            raise Retry(str(error), after=settings.look_again) from None
        await run_backup_schedule(mgors, ctx, self.metrics)
        await ensure_archive(mgors, ctx)
        is_quiet = isinstance(action, NoAction) and not keyfile.is_rotating and tls.next_mode == tls.mode
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tls:
    """TLS in this reconcile: the mode of the current template, and of the next one."""

    mode: TlsMode
    next_mode: TlsMode
    certificate: ServerCertificate | None = None
    trust: Trust | None = None


async def _tls(mgors: Mgors, ctx: Context[Mgors], settings: Settings) -> _Tls:
    """Return the certificate and the modes of TLS."""
    tls = wanted_tls(mgors)
    pods = await ctx.list(Pod, selector_of(mgors))
    # Templates of members and arbiters have the same mode; those of members are applied first.
    sets = sorted(ctx.owned(StatefulSet), key=lambda one: one.name != mgors.name)
    mode = template_mode(sets, tls.mode, pods)
    following = next_mode(mode, tls.mode, pods)
    if {mode, following} == {"disabled"}:
        return _Tls(mode=mode, next_mode=following)
    certificate = await ensure_certificate(mgors, ctx, settings)
    await publish_authority(mgors, ctx, certificate)
    authority = certificate.authority + certificate.previous
    trust = Trust(authority=authority, any_hostname=ignores_hostnames(tls)) if uses_tls(mode) else None
    return _Tls(mode=mode, next_mode=following, certificate=certificate, trust=trust)


async def _apply(mgors: Mgors, ctx: Context[Mgors], situation: Situation, revision: Revision) -> None:
    """Apply the objects of the set. Pods stay until their members have left the configuration."""
    await ctx.apply(service_of(mgors))
    await ctx.apply(budget_of(mgors, can_lose_one=situation.can_lose_one))
    existing = {found.name: found for found in ctx.owned(StatefulSet)}
    running = {name: found.spec.replicas or 0 for name, found in existing.items()}
    needed = pods_needed(situation, members=mgors.spec.members, running=running.get(mgors.name, 0))
    await ctx.apply(members_of(mgors, needed, revision, existing.get(mgors.name)))
    await grow_disks(mgors, ctx, needed)
    if mgors.spec.arbiters or arbiters_name(mgors) in running:
        arbiters = arbiters_needed(situation, mgors.spec.arbiters, running.get(arbiters_name(mgors), 0))
        await ctx.apply(arbiters_of(mgors, arbiters, revision))
    if situation.config is not None:
        await record_initiation(mgors, ctx, situation.config)
    if not mgors.spec.pause:
        await delete_disks(mgors, ctx, range(needed, max(needed, running.get(mgors.name, 0)) + 1))


def _revision(mgors: Mgors, ctx: Context[Mgors], keyfile: Keyfile, tls: _Tls) -> Revision:
    """Return what the pod template gets. An image that the data does not allow is not used."""
    image = mgors.spec.image
    problem = upgrade_problem(image, mgors.status.feature_compatibility_version)
    template = next((one.spec.template.spec for one in ctx.owned(StatefulSet) if one.name == mgors.name), None)
    if problem and template is not None:
        image = template.containers[0].image or image
    report_image(ctx, problem)
    return Revision(image=image, keyfile=keyfile.mark, tls_mode=tls.next_mode)
