"""Observe a replica set: its pods and the reports of its members, as one `Situation`."""

from dataclasses import replace
from datetime import datetime

from steersman import Context
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors, Unsafe
from mgors.connections import Connector
from mgors.consent import FORCE, Consent, read_consent
from mgors.history import read_history
from mgors.maintenance import maintenance_of
from mgors.member_slots import slots_of
from mgors.members import Slot
from mgors.names import selector_of
from mgors.replica_set import lineage, query_members
from mgors.settings import Settings
from mgors.situation import Situation


async def observe(
    mgors: Mgors, ctx: Context[Mgors], connector: Connector, settings: Settings, *, uncached: bool = False
) -> Situation:
    """Query Kubernetes and every member. ``uncached`` reads pods from the API server, for irreversible decisions."""
    pods = await _pods(mgors, ctx, uncached=uncached)
    sets = {found.name: found for found in ctx.owned(StatefulSet)}
    slots = slots_of(mgors, {pod.name: pod for pod in pods}, sets)
    reached = await query_members({slot.number: slot.host for slot in slots if slot.host}, connector)
    history = await read_history(mgors, ctx)
    consent = read_consent(mgors.metadata.annotations.get(FORCE), uid=mgors.uid, now=ctx.now())
    situation = Situation(
        slots=tuple(replace(slot, reach=reached.get(slot.number, slot.reach)) for slot in slots),
        is_paused=mgors.spec.pause,
        was_initiated=history.was_initiated,
        is_busy=await maintenance_of(mgors.name).holder(ctx, mgors.namespace) is not None,
        may_start_empty=await _is_restore_waiting(mgors, ctx),
        may_force=(mgors.spec.unsafe or Unsafe()).force_reconfig_on_lost_quorum,
        held_compatibility=mgors.spec.feature_compatibility_version or "",
        consent=consent,
        spent_at=history.spent_at(consent.digest) if isinstance(consent, Consent) else None,
        quorum_lost_for=_quorum_lost_for(mgors, ctx.now()),
        patience=settings.quorum_patience,
        max_lag=settings.max_lag,
    )
    return await _with_lineage(situation, connector)


async def _pods(mgors: Mgors, ctx: Context[Mgors], *, uncached: bool) -> list[Pod]:
    if not uncached:
        return await ctx.list(Pod, selector_of(mgors))
    found = ctx.client.list(Pod, namespace=mgors.namespace, label_selector=selector_of(mgors))
    return [pod async for pod in found]


async def _is_restore_waiting(mgors: Mgors, ctx: Context[Mgors]) -> bool:
    """Return whether there is a restore of this set that can succeed: its backup exists and is complete."""
    for restore in await ctx.list(MgorsRestore):
        if restore.spec.cluster_name != mgors.name or restore.is_finished or restore.is_deleting:
            continue
        backup = await ctx.get(MgorsBackup, restore.backup_name) if restore.backup_name else None
        if backup is not None and backup.status.state == "ready" and not backup.is_deleting:
            return True
    return False


async def _with_lineage(situation: Situation, connector: Connector) -> Situation:
    """Compare the oplogs of members outside the configuration with that of the primary."""
    primary = situation.primary
    if primary is None or primary.config is None:
        return situation

    async def compared(slot: Slot) -> Slot:
        listed = primary.config is not None and primary.config.member(slot.number) is not None
        if listed or slot.view is None or slot.config is None or slot.is_arbiter:
            return slot
        return replace(slot, lineage=await lineage(primary, slot.view.optime, connector))

    return replace(situation, slots=tuple([await compared(slot) for slot in situation.slots]))


def _quorum_lost_for(mgors: Mgors, now: datetime) -> float:
    quorum = mgors.status.condition("QuorumAvailable")
    if quorum is None or quorum.status != "False" or quorum.last_transition_time is None:
        return 0.0
    return (now - quorum.last_transition_time).total_seconds()
