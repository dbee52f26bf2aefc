"""Reconciles a MgorsBackup: a dump of a secondary, which is removed with the object."""

import os
from dataclasses import dataclass
from functools import partial

from steersman import Context, Retry

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_v1 import Mgors
from mgors.backups import PlaceError, destination_of, folder_at
from mgors.connections import Dial, Limit, MemberError
from mgors.discovery import find_connector, find_members
from mgors.dump import NotSupportedError, dump
from mgors.maintenance import let_go, try_hold
from mgors.manifest import remove
from mgors.members import State
from mgors.settings import Settings

_AT_ONCE, _SOON = 0.001, 2.0


@dataclass(frozen=True, slots=True)
class MgorsBackupReconciler:
    """Reconciles backups."""

    dial: Dial

    async def reconcile(self, backup: MgorsBackup, ctx: Context[MgorsBackup]) -> None:
        """Wait for the Lease and for a member; then say so, and then do it: what runs is seen to run."""
        status = backup.status
        if backup.is_finished:
            await let_go(backup, ctx)
            return
        mgors = await ctx.get(Mgors, backup.spec.cluster_name)
        if mgors is None:
            await _end(backup, ctx, f"there is no Mgors {backup.spec.cluster_name}")
            return
        if not await try_hold(backup, ctx):
            ctx.requeue_after(_SOON)
            return
        try:
            if status.state != "running":
                _begin(backup, mgors, ctx)
                return
            await self._dump(backup, mgors, ctx)
        except MemberError as error:
            status.error = str(error)
            raise Retry(str(error), after=_SOON) from None
        except (OSError, PlaceError, NotSupportedError) as error:
            await _end(backup, ctx, str(error))
            return
        await _end(backup, ctx, "")

    async def _dump(self, backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsBackup]) -> None:
        """Dump a secondary: that costs the primary nothing. A set with one member has only that."""
        connector = await find_connector(mgors, ctx, self.dial)
        found = await find_members(mgors, ctx, connector)
        source = found.get(State.SECONDARY) or found.get(State.PRIMARY)
        if source is None:
            raise MemberError(f"no member of {mgors.name} can be read now")
        status = backup.status
        folder = folder_at(status.destination, Settings.read(os.environ).backups)
        async with connector.member(source, Limit.BULK) as member:
            work = partial(dump, member.mongo, folder, users_and_roles=backup.spec.users_and_roles)
            manifest, status.sha256 = await member.change("dump", work)
        status.documents, status.size_bytes = manifest.documents, manifest.size
        status.collections = len(manifest.collections)

    async def cleanup(self, backup: MgorsBackup, ctx: Context[MgorsBackup]) -> None:
        """Remove the data with the object."""
        if backup.status.destination:
            try:
                remove(folder_at(backup.status.destination, Settings.read(os.environ).backups))
            except PlaceError as error:
                ctx.log.warning("nothing is removed", extra={"error": str(error)})
        await let_go(backup, ctx)


def _begin(backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsBackup]) -> None:
    """Say that it runs, and where: whoever removes it must know, even if the operator dies before it can say more."""
    status = backup.status
    status.destination = destination_of(backup, mgors)
    status.state, status.start = "running", ctx.now().replace(microsecond=0)
    ctx.requeue_after(_AT_ONCE)


async def _end(backup: MgorsBackup, ctx: Context[MgorsBackup], error: str) -> None:
    status = backup.status
    status.state, status.error = ("error" if error else "ready"), error
    status.completed = ctx.now().replace(microsecond=0)
    if error:
        ctx.event("BackupFailed", error, kind="Warning")
    else:
        ctx.event("BackupSucceeded", f"{status.documents} documents, {status.size_bytes} bytes")
    ctx.condition("Ready", not error, "BackupFailed" if error else "BackupSucceeded", error)
    ctx.requeue_after(_AT_ONCE)  # the Lease is given back when everybody can see that it is over
