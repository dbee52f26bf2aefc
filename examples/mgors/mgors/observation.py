"""What is there: the pods of a replica set and what their members say, as one situation to decide on."""

from dataclasses import replace
from datetime import datetime

from steersman import Context
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap, Pod

from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors, Unsafe
from mgors.connections import Door
from mgors.objects import selector_of
from mgors.plan import Situation
from mgors.replica_set import look
from mgors.seats import seats_of
from mgors.settings import Settings


def history_name(mgors: Mgors) -> str:
    """Give the name of the ConfigMap that remembers which replica set was begun here."""
    return f"{mgors.name}-history"


def lease_name(cluster: str) -> str:
    """Give the name of the Lease that a backup or a restore of a cluster holds."""
    return f"mgors-{cluster}"


async def observe(mgors: Mgors, ctx: Context[Mgors], door: Door, settings: Settings) -> Situation:
    """Look at everything."""
    pods = {pod.name: pod for pod in await ctx.list(Pod, selector_of(mgors))}
    sets = {found.name: found for found in ctx.owned(StatefulSet)}
    seats = seats_of(mgors, pods, sets)
    seen = await look({seat.number: seat.host for seat in seats if seat.host}, door)
    unsafe = mgors.spec.unsafe or Unsafe()
    restores = [one for one in await ctx.list(MgorsRestore) if one.spec.cluster_name == mgors.name]
    return Situation(
        seats=tuple(replace(seat, seen=seen.get(seat.number)) for seat in seats),
        is_paused=mgors.spec.pause,
        was_initiated=await ctx.get(ConfigMap, history_name(mgors)) is not None,
        is_busy=await ctx.get(Lease, lease_name(mgors.name)) is not None,
        may_begin_anew=any(not one.is_finished and not one.is_deleting for one in restores),
        may_force=unsafe.force_reconfig_on_lost_quorum,
        quorum_lost_for=_quorum_lost_for(mgors, ctx.now()),
        patience=settings.quorum_patience,
    )


def _quorum_lost_for(mgors: Mgors, now: datetime) -> float:
    quorum = mgors.status.condition("QuorumAvailable")
    if quorum is None or quorum.status != "False" or quorum.last_transition_time is None:
        return 0.0
    return (now - quorum.last_transition_time).total_seconds()
