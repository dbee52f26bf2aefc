"""The reconciler of MgorsBackup: a dump of a secondary, whose files are deleted with the object."""

import os
from dataclasses import dataclass
from functools import partial

from steersman import Context, Retry

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_v1 import Mgors
from mgors.backup_store import is_temporary, store_of
from mgors.backups import DestinationError, destination_of
from mgors.connections import Dial, Limit, MemberError
from mgors.discovery import find_connector, find_members
from mgors.dump import NotSupportedError, dump
from mgors.maintenance import maintenance_of
from mgors.members import State
from mgors.s3 import S3Error
from mgors.settings import Settings

_AT_ONCE, _SOON, _LATER = 0.001, 2.0, 30.0


@dataclass(frozen=True, slots=True)
class MgorsBackupReconciler:
    """Reconciles backups."""

    dial: Dial

    async def reconcile(self, backup: MgorsBackup, ctx: Context[MgorsBackup]) -> None:
        """Wait for the Lease and for a member; then report that it runs, and in the next reconcile run it."""
        status = backup.status
        if backup.is_finished:
            await maintenance_of(backup.spec.cluster_name).end(backup, ctx)
            return
        mgors = await ctx.get(Mgors, backup.spec.cluster_name)
        if mgors is None:
            await _end(backup, ctx, f"the Mgors {backup.spec.cluster_name} does not exist")
            return
        if not await maintenance_of(backup.spec.cluster_name).try_begin(backup, ctx):
            ctx.requeue_after(_SOON)
            return
        try:
            if status.state != "running":
                _begin(backup, mgors, ctx)
                return
            await self._dump(backup, mgors, ctx)
        except (MemberError, S3Error, OSError, DestinationError, NotSupportedError) as error:
            if is_temporary(error):
                status.error = str(error)
                raise Retry(str(error), after=_SOON) from None
            await _end(backup, ctx, str(error))
            return
        await _end(backup, ctx, "")

    async def _dump(self, backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsBackup]) -> None:
        """Dump a secondary, to spare the primary; a set with one member has only the primary."""
        connector = await find_connector(mgors, ctx, self.dial)
        found = await find_members(mgors, ctx, connector)
        source = found.get(State.SECONDARY) or found.get(State.PRIMARY)
        if source is None:
            raise MemberError(f"no member of {mgors.name} can be read now")
        status = backup.status
        store = await store_of(backup, ctx, Settings.read(os.environ).backups)
        async with connector.member(source, Limit.BULK) as member:
            work = partial(dump, member.mongo, store.folder, users_and_roles=backup.spec.users_and_roles)
            manifest, status.sha256 = await member.change("dump", work)
        await store.save()
        status.documents, status.size_bytes = manifest.documents, manifest.size
        status.collections = len(manifest.collections)
        status.oplog_position, status.usable_from = manifest.at, manifest.usable_from

    async def cleanup(self, backup: MgorsBackup, ctx: Context[MgorsBackup]) -> None:
        """Delete the files of the backup."""
        if backup.status.destination:
            try:
                await (await store_of(backup, ctx, Settings.read(os.environ).backups)).delete()
            except DestinationError as error:
                ctx.log.warning("no files are deleted", extra={"error": str(error)})
            except S3Error as error:
                raise Retry(str(error), after=_LATER) from None
        await maintenance_of(backup.spec.cluster_name).end(backup, ctx)


def _begin(backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsBackup]) -> None:
    """Report that it runs, and its destination, so that a cleanup finds the files even if the operator crashes."""
    status = backup.status
    status.destination = destination_of(backup, mgors)
    plan = mgors.spec.backup
    status.s3 = plan.storage.s3 if plan is not None and plan.storage is not None else None
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
    ctx.requeue_after(_AT_ONCE)  # the Lease is released after the status shows the end
