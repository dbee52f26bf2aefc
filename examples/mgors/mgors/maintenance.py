"""Allow one backup or restore of a replica set at a time: the object that holds a Lease.

The Lease names its holder and does not expire. The Lease of a holder that was deleted or has finished counts as free:
the next backup or restore takes it over.
"""

from typing import Any

from steersman import Context, meta
from steersman.errors import AlreadyExists
from steersman.kinds.coordination_v1 import Lease, LeaseSpec

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors

_KINDS: dict[str, type[MgorsBackup | MgorsRestore]] = {"MgorsBackup": MgorsBackup, "MgorsRestore": MgorsRestore}


def lease_name(cluster: str) -> str:
    """Return the name of the Lease that a backup or a restore of a cluster holds."""
    return f"mgors-{cluster}"


def _holder(obj: MgorsBackup | MgorsRestore) -> str:
    return f"{type(obj).__name__}/{obj.name}/{obj.uid}"


async def is_lease_held(mgors: Mgors, ctx: Context[Mgors]) -> bool:
    """Return whether a backup or a restore of the set is running."""
    lease = await ctx.get(Lease, lease_name(mgors.name))
    return lease is not None and await _is_running(lease.spec.holder_identity or "", mgors.namespace, ctx)


async def try_acquire_lease(obj: MgorsBackup | MgorsRestore, ctx: Context[MgorsBackup] | Context[MgorsRestore]) -> bool:
    """Acquire the Lease of the cluster, unless another backup or restore that is still running holds it."""
    name = lease_name(obj.spec.cluster_name)
    lease = await ctx.client.try_get(Lease, name, obj.namespace)
    if lease is not None:
        holder = lease.spec.holder_identity or ""
        if holder == _holder(obj):
            return True
        if await _is_running(holder, obj.namespace, ctx):
            return False
        await ctx.client.delete(lease, missing_ok=True)
    wanted = Lease(meta(name, namespace=obj.namespace), spec=LeaseSpec(holder_identity=_holder(obj)))
    try:
        await ctx.client.create(wanted)
    except AlreadyExists:
        return False
    return True


async def release_lease(obj: MgorsBackup | MgorsRestore, ctx: Context[MgorsBackup] | Context[MgorsRestore]) -> None:
    """Release the Lease, if this object holds it."""
    lease = await ctx.client.try_get(Lease, lease_name(obj.spec.cluster_name), obj.namespace)
    if lease is not None and lease.spec.holder_identity == _holder(obj):
        await ctx.client.delete(lease, missing_ok=True)


async def _is_running(holder: str, namespace: str, ctx: Context[Any]) -> bool:
    kind, _, rest = holder.partition("/")
    name, _, uid = rest.partition("/")
    if kind not in _KINDS:
        return False
    found = await ctx.client.try_get(_KINDS[kind], name, namespace)
    return found is not None and found.uid == uid and not found.is_finished and not found.is_deleting
