"""What is there: the pods of a replica set and what their members say, as one situation to decide on."""

from dataclasses import replace
from datetime import datetime

from steersman import Context
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap, Pod

from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors, Unsafe
from mgors.members import FIRST_ARBITER, Seat
from mgors.objects import arbiters_name, host_of, selector_of
from mgors.plan import Situation
from mgors.replica_set import look
from mgors.settings import Settings

_REVISION = "controller-revision-hash"


def history_name(mgors: Mgors) -> str:
    """Give the name of the ConfigMap that remembers which replica set was begun here."""
    return f"{mgors.name}-history"


def lease_name(cluster: str) -> str:
    """Give the name of the Lease that a backup or a restore of a cluster holds."""
    return f"mgors-{cluster}"


async def observe(mgors: Mgors, ctx: Context[Mgors], keyfile: str, settings: Settings) -> Situation:
    """Look at everything."""
    pods = {pod.name: pod for pod in await ctx.list(Pod, selector_of(mgors))}
    sets = {found.name: found for found in ctx.owned(StatefulSet)}
    seats = seats_of(mgors, pods, sets)
    seen = await look({seat.number: seat.host for seat in seats if seat.host}, keyfile)
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


def seats_of(mgors: Mgors, pods: dict[str, Pod], sets: dict[str, StatefulSet]) -> list[Seat]:
    """Give every place that is wanted, and every one that has a pod."""
    found = []
    for name, wanted, first in (
        (mgors.name, mgors.spec.members, 0),
        (arbiters_name(mgors), mgors.spec.arbiters, FIRST_ARBITER),
    ):
        stateful_set = sets.get(name)
        running = (stateful_set.spec.replicas or 0) if stateful_set else 0
        for ordinal in range(max(wanted, running)):
            pod = pods.get(f"{name}-{ordinal}")
            found.append(
                Seat(
                    number=first + ordinal,
                    pod=f"{name}-{ordinal}",
                    host=host_of(pod, mgors) if pod and not pod.is_deleting else "",
                    is_arbiter=first > 0,
                    is_wanted=ordinal < wanted,
                    is_stale=pod is not None and stateful_set is not None and _is_stale(pod, stateful_set),
                )
            )
    return found


def _is_stale(pod: Pod, stateful_set: StatefulSet) -> bool:
    status = stateful_set.status
    if status.observed_generation != stateful_set.generation or not status.update_revision:
        return False
    return pod.metadata.labels.get(_REVISION) != status.update_revision
