"""The reconciler of MgorsRestore: load a backup next to the existing data, compare it, and swap them, step by step."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from steersman import Context, Retry

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore, Phase
from mgors.api.mgors_v1 import Mgors
from mgors.backup_store import is_temporary, store_of
from mgors.backups import DestinationError
from mgors.connections import Dial, Limit, MemberError
from mgors.discovery import find_connector, find_members
from mgors.maintenance import maintenance_of
from mgors.manifest import MANIFEST, DamagedError, read_manifest
from mgors.members import State
from mgors.restoring import Progress, Restoring
from mgors.s3 import S3Error
from mgors.settings import Settings

_AT_ONCE, _SOON = 0.001, 1.0
#: Seconds of work between two writes of the status.
_REPORT_EVERY = 4.0
#: Phases in which existing data has not been touched.
_UNTOUCHED: tuple[Phase, ...] = ("Checking", "Loading")


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
        backup = await ctx.get(MgorsBackup, restore.spec.backup_name)
        if mgors is None or backup is None or backup.status.state != "ready":
            absent = f"Mgors {restore.spec.cluster_name}" if mgors is None else f"backup {restore.spec.backup_name}"
            await _end(restore, ctx, f"the {absent} does not exist or cannot be used")
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
        except (MemberError, S3Error, OSError, DestinationError, DamagedError) as error:
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

    async def _work(self, restore: MgorsRestore, backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsRestore]) -> bool:
        """Do steps for a while; return whether the restore is complete."""
        if restore.spec.users_and_roles and not backup.spec.users_and_roles:
            raise DamagedError(f"the backup {backup.name} has no users and roles: spec.usersAndRoles was not set")
        status, begin = restore.status, ctx.now()
        async with self._restoring(restore, backup, mgors, ctx) as restoring:
            manifest = restoring.manifest
            status.collections = len(manifest.collections)
            while status.phase != "Done" and (ctx.now() - begin).total_seconds() < _REPORT_EVERY:
                try:
                    _write(restore, await restoring.step(_read(restore)), manifest.documents)
                except DamagedError:
                    if status.phase in _UNTOUCHED:
                        await restoring.abandon()
                    raise
        return status.phase == "Done"

    @asynccontextmanager
    async def _restoring(
        self, restore: MgorsRestore, backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsRestore]
    ) -> AsyncIterator[Restoring]:
        store = await store_of(backup, ctx, Settings.read(os.environ).backups)
        if restore.status.phase == "Checking" or not (store.folder / MANIFEST).exists():
            await store.load(backup.status.sha256)
        manifest = read_manifest(store.folder, backup.status.sha256)
        connector = await find_connector(mgors, ctx, self.dial)
        primary = (await find_members(mgors, ctx, connector)).get(State.PRIMARY)
        if primary is None:
            raise MemberError(f"{mgors.name} has no primary now")
        async with connector.member(primary, Limit.BULK) as member:
            yield Restoring(
                primary=member,
                folder=store.folder,
                manifest=manifest,
                tag=tag_of(restore),
                users_and_roles=restore.spec.users_and_roles,
            )

    async def cleanup(self, restore: MgorsRestore, ctx: Context[MgorsRestore]) -> None:
        """Drop the loaded collections, if the primary can be reached, and release the Lease."""
        mgors = await ctx.get(Mgors, restore.spec.cluster_name)
        backup = await ctx.get(MgorsBackup, restore.spec.backup_name)
        is_underway = not restore.is_finished and restore.status.phase in _UNTOUCHED
        if is_underway and mgors is not None and backup is not None:
            try:
                async with self._restoring(restore, backup, mgors, ctx) as restoring:
                    await restoring.abandon()
            except (OSError, MemberError, DestinationError, DamagedError, S3Error) as error:
                ctx.log.warning("the loaded collections stay", extra={"tag": tag_of(restore), "error": str(error)})
        await _release(restore, ctx)


async def _release(restore: MgorsRestore, ctx: Context[MgorsRestore]) -> None:
    """Delete local copies of the backup's files, and release the Lease."""
    backup = await ctx.get(MgorsBackup, restore.spec.backup_name)
    if backup is not None and backup.status.s3 is not None:
        try:
            await (await store_of(backup, ctx, Settings.read(os.environ).backups)).release()
        except DestinationError as error:
            ctx.log.warning("local copies stay", extra={"backup": backup.name, "error": str(error)})
    await maintenance_of(restore.spec.cluster_name).end(restore, ctx)


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
        ctx.event("RestoreCompleted", f"{status.documents} documents, identical to those of the backup")
    ctx.condition("Ready", not error, "RestoreFailed" if error else "RestoreCompleted", error)
    ctx.requeue_after(_AT_ONCE)  # the Lease is released after the status shows the end
