"""The reconciler of MgorsRestore: load a backup next to the existing data, compare it, and swap them, step by step."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from steersman import Context, Retry

from mgors.api.mgors_archive_v1 import MgorsArchive
from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore, Phase
from mgors.api.mgors_v1 import Mgors
from mgors.archive_store import archive_of
from mgors.archives import bases_of
from mgors.backup_store import TRANSIT, is_temporary, store_of
from mgors.backups import DestinationError, folder_at
from mgors.connections import Dial, Limit, MemberError
from mgors.discovery import find_connector, find_members
from mgors.errors import DamagedError
from mgors.maintenance import maintenance_of
from mgors.manifest import MANIFEST, read_manifest
from mgors.members import State
from mgors.oplog import GapError, Position, choose_base
from mgors.replaying import Replaying
from mgors.restoring import Progress, Restoring
from mgors.s3 import S3Error
from mgors.settings import Settings

_AT_ONCE, _SOON = 0.001, 1.0
#: Seconds of work between two writes of the status.
_REPORT_EVERY = 4.0
#: Phases in which existing data has not been touched.
_UNTOUCHED: tuple[Phase, ...] = ("Checking", "Loading", "Replaying")


@dataclass(frozen=True, slots=True)
class MgorsRestoreReconciler:
    """Reconciles restores."""

    dial: Dial

    async def reconcile(self, restore: MgorsRestore, ctx: Context[MgorsRestore]) -> None:
        """Wait for the Lease and for a primary; then do some steps, and report the progress."""
        if restore.is_finished:
            await _release(restore, ctx)
            return
        mgors = await ctx.get(Mgors, restore.spec.cluster_name)
        backup = await self._backup(restore, ctx)
        if mgors is None or backup is None or backup.status.state != "ready":
            absent = f"Mgors {restore.spec.cluster_name}" if mgors is None else f"backup {restore.backup_name}"
            await _end(restore, ctx, restore.status.error or f"the {absent} does not exist or cannot be used")
            return
        if not await maintenance_of(restore.spec.cluster_name).try_begin(restore, ctx):
            ctx.requeue_after(_SOON)
            return
        status = restore.status
        if status.state != "running":
            status.state, status.start = "running", ctx.now().replace(microsecond=0)
            ctx.requeue_after(_AT_ONCE)
            return
        try:
            is_done = await self._work(restore, backup, mgors, ctx)
        except (MemberError, S3Error, OSError, DestinationError, DamagedError, GapError) as error:
            if is_temporary(error):
                status.error = str(error)
                raise Retry(str(error), after=_SOON) from None
            await _end(restore, ctx, str(error))
            return
        if is_done:
            await _end(restore, ctx, "")
        else:
            status.error = ""
            ctx.requeue_after(_AT_ONCE)

    async def _backup(self, restore: MgorsRestore, ctx: Context[MgorsRestore]) -> MgorsBackup | None:
        """Return the backup; for a moment, choose the newest one from which the archive reaches it, once."""
        status, limit = restore.status, restore.limit
        if not status.backup and limit is not None:
            try:
                status.backup = await choose_backup(restore, limit, ctx)
            except (GapError, S3Error, DestinationError) as error:
                if is_temporary(error):
                    raise Retry(str(error), after=_SOON) from None
                status.error = str(error)
                return None
        status.backup = restore.backup_name
        return await ctx.get(MgorsBackup, status.backup)

    async def _work(self, restore: MgorsRestore, backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsRestore]) -> bool:
        """Do steps for a while; return whether the restore is complete."""
        if restore.spec.users_and_roles and not backup.spec.users_and_roles:
            raise DamagedError(f"the backup {backup.name} has no users and roles: spec.usersAndRoles was not set")
        status, begin = restore.status, ctx.now()
        if status.phase == "Replaying":
            return await self._replay(restore, backup, mgors, ctx)
        async with self._restoring(restore, backup, mgors, ctx) as restoring:
            manifest = restoring.manifest
            status.collections = len(manifest.collections)
            while status.phase not in ("Replaying", "Done") and (ctx.now() - begin).total_seconds() < _REPORT_EVERY:
                try:
                    _write(restore, await restoring.step(_read(restore)), manifest.documents)
                except DamagedError:
                    if status.phase in _UNTOUCHED:
                        await restoring.abandon()
                    raise
        return status.phase == "Done"

    async def _replay(
        self, restore: MgorsRestore, backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsRestore]
    ) -> bool:
        """Replay slices for a while; when all are replayed, describe the result. Return that there is more to do."""
        status, begin = restore.status, ctx.now()
        async with self._restoring(restore, backup, mgors, ctx) as restoring:
            replaying = await self._replaying(restore, restoring, ctx)
            try:
                while (ctx.now() - begin).total_seconds() < _REPORT_EVERY:
                    found = await replaying.step()
                    status.progress = found.text
                    if found.is_complete:
                        _, status.replayed_sha256 = await replaying.capture(_result(restore), restoring.folder)
                        status.phase, status.position = "SettingAside", 0
                        break
            except (DamagedError, GapError):
                await restoring.abandon()
                raise
        return False

    async def _replaying(self, restore: MgorsRestore, restoring: Restoring, ctx: Context[MgorsRestore]) -> Replaying:
        archive = await ctx.get(MgorsArchive, restore.spec.cluster_name)
        if archive is None or restore.limit is None:
            raise GapError(f"there is no archived oplog: the MgorsArchive {restore.spec.cluster_name} does not exist")
        return Replaying(
            primary=restoring.primary,
            archive=await archive_of(archive, ctx, Settings.read(os.environ).backups),
            base=restoring.manifest,
            tag=tag_of(restore),
            limit=restore.limit,
        )

    @asynccontextmanager
    async def _restoring(
        self, restore: MgorsRestore, backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsRestore]
    ) -> AsyncIterator[Restoring]:
        store = await store_of(backup, ctx, Settings.read(os.environ).backups)
        if restore.status.phase == "Checking" or not (store.folder / MANIFEST).exists():
            await store.load(backup.status.sha256)
        manifest, folder = read_manifest(store.folder, backup.status.sha256), store.folder
        dropped = manifest.databases
        if restore.status.replayed_sha256:
            folder = _result(restore)
            manifest = read_manifest(folder, restore.status.replayed_sha256)
        connector = await find_connector(mgors, ctx, self.dial)
        primary = (await find_members(mgors, ctx, connector)).get(State.PRIMARY)
        if primary is None:
            raise MemberError(f"{mgors.name} has no primary now")
        async with connector.member(primary, Limit.BULK) as member:
            yield Restoring(
                primary=member,
                folder=folder,
                manifest=manifest,
                tag=tag_of(restore),
                users_and_roles=restore.spec.users_and_roles,
                is_replayed=restore.limit is not None,
                dropped=tuple(dropped),
            )

    async def cleanup(self, restore: MgorsRestore, ctx: Context[MgorsRestore]) -> None:
        """Drop the loaded collections, if the primary can be reached, and release the Lease."""
        mgors = await ctx.get(Mgors, restore.spec.cluster_name)
        backup = await ctx.get(MgorsBackup, restore.backup_name) if restore.backup_name else None
        is_underway = not restore.is_finished and restore.status.phase in _UNTOUCHED
        if is_underway and mgors is not None and backup is not None:
            try:
                async with self._restoring(restore, backup, mgors, ctx) as restoring:
                    await restoring.abandon()
            except (OSError, MemberError, DestinationError, DamagedError, S3Error) as error:
                ctx.log.warning("the loaded collections stay", extra={"tag": tag_of(restore), "error": str(error)})
        await _release(restore, ctx)


async def _release(restore: MgorsRestore, ctx: Context[MgorsRestore]) -> None:
    """Delete local copies of the backup's files and those of a replay, and release the Lease."""
    shutil.rmtree(_result(restore), ignore_errors=True)
    backup = await ctx.get(MgorsBackup, restore.backup_name) if restore.backup_name else None
    if backup is not None and backup.status.s3 is not None:
        try:
            await (await store_of(backup, ctx, Settings.read(os.environ).backups)).release()
        except DestinationError as error:
            ctx.log.warning("local copies stay", extra={"backup": backup.name, "error": str(error)})
    await maintenance_of(restore.spec.cluster_name).end(restore, ctx)


def _result(restore: MgorsRestore) -> Path:
    """Return the folder with what a replay has led to."""
    return folder_at(f"{TRANSIT}/restore-{restore.uid}", Settings.read(os.environ).backups)


async def choose_backup(restore: MgorsRestore, limit: Position, ctx: Context[MgorsRestore]) -> str:
    """Return the backup to replay on: the named one, or the newest from which the archive reaches the limit."""
    name = restore.spec.cluster_name
    archive = await ctx.get(MgorsArchive, name)
    if archive is None or not archive.status.destination:
        raise GapError(f"there is no archived oplog: the MgorsArchive {name} does not exist, or has no slices yet")
    store = await archive_of(archive, ctx, Settings.read(os.environ).backups)
    backups = [one for one in await ctx.list(MgorsBackup) if one.spec.cluster_name == name]
    wanted = [one for one in backups if restore.spec.backup_name in (None, one.name)]
    return choose_base(bases_of(wanted), await store.slices(), limit).name


def tag_of(restore: MgorsRestore) -> str:
    """Return the tag in the names of the collections of a restore."""
    return restore.uid[:8]


def _read(restore: MgorsRestore) -> Progress:
    status = restore.status
    return Progress(status.phase, status.position, status.documents)


def _write(restore: MgorsRestore, progress: Progress, total: int) -> None:
    status = restore.status
    status.phase, status.position, status.documents = progress.phase, progress.position, progress.documents
    if progress.phase in ("SettingAside", "Swapping", "Cleaning", "Done"):
        status.documents = total  # includes those of an operator that crashed before it wrote the status
    status.progress = f"{progress.text}; {status.documents} of {total} documents are loaded"


async def _end(restore: MgorsRestore, ctx: Context[MgorsRestore], error: str) -> None:
    status = restore.status
    if error and status.phase in ("SettingAside", "Swapping"):
        error += f"; the replaced data is kept in the collections mgors-old.{tag_of(restore)}.*"
    status.state, status.error = ("error" if error else "ready"), error
    status.completed = ctx.now().replace(microsecond=0)
    if error:
        ctx.event("RestoreFailed", error, kind="Warning")
    else:
        what = "identical to those of the backup" if restore.limit is None else f"as before {restore.limit.described()}"
        ctx.event("RestoreCompleted", f"{status.documents} documents, {what}")
    ctx.condition("Ready", not error, "RestoreFailed" if error else "RestoreCompleted", error)
    ctx.requeue_after(_AT_ONCE)  # the Lease is released after the status shows the end
