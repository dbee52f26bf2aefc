"""The archive of a replica set: where it is kept, and what can be restored from it."""

from collections.abc import Iterable

from steersman import Context, meta
from steersman.errors import AlreadyExists

from mgors.api.mgors_archive_v1 import MgorsArchive, MgorsArchiveSpec
from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_v1 import Mgors, PointInTime
from mgors.names import CLUSTER
from mgors.oplog import Base, Position


def archiving_of(mgors: Mgors | None) -> PointInTime | None:
    """Return the settings of archiving; ``None`` if there is none, also while the set is paused."""
    if mgors is None or mgors.spec.backup is None or mgors.spec.pause or mgors.is_deleting:
        return None
    return mgors.spec.backup.point_in_time


async def ensure_archive(mgors: Mgors, ctx: Context[Mgors]) -> None:
    """Create the archive if it is wanted. It is not owned: like backups it outlives the replica set."""
    if archiving_of(mgors) is None or await ctx.get(MgorsArchive, mgors.name) is not None:
        return
    about = meta(mgors.name, labels={CLUSTER: mgors.name}, namespace=mgors.namespace)
    try:
        await ctx.create(MgorsArchive(about, MgorsArchiveSpec(cluster_name=mgors.name)), owned=False)
    except AlreadyExists:
        ctx.log.info("the archive exists already", extra={"archive": mgors.name})


def bases_of(backups: Iterable[MgorsBackup]) -> list[Base]:
    """Return the complete backups with a place in the oplog."""
    return [
        Base(one.name, Position.parse(one.status.oplog_position), Position.parse(one.status.usable_from))
        for one in backups
        if one.status.state == "ready" and one.status.oplog_position and not one.is_deleting
    ]
