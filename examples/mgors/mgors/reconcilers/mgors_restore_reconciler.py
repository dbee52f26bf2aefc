"""What the operator does for a MgorsRestore: a backup is checked, loaded at the primary, and compared."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from steersman import Context, Retry

from mgors import dump
from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors
from mgors.backups import PlaceError, folder_at
from mgors.connections import Connector, MemberError
from mgors.discovery import find_connector, find_members
from mgors.maintenance import let_go, try_hold
from mgors.members import State
from mgors.settings import Settings

_AT_ONCE, _SOON = 0.001, 1.0


@dataclass(frozen=True, slots=True)
class MgorsRestoreReconciler:
    """Reconciles restores."""

    connect: Callable[[str], Connector]

    async def reconcile(self, restore: MgorsRestore, ctx: Context[MgorsRestore]) -> None:
        """Wait for the Lease and for a primary; then say so, and then do it."""
        status = restore.status
        if restore.is_finished:
            await let_go(restore, ctx)
            return
        mgors = await ctx.get(Mgors, restore.spec.cluster_name)
        backup = await ctx.get(MgorsBackup, restore.spec.backup_name)
        if mgors is None or backup is None or backup.status.state != "ready":
            absent = f"Mgors {restore.spec.cluster_name}" if mgors is None else f"backup {restore.spec.backup_name}"
            await _end(restore, ctx, f"there is no {absent} that could be used")
            return
        if not await try_hold(restore, ctx):
            ctx.requeue_after(_SOON)
            return
        if status.state != "running":
            status.state, status.start = "running", ctx.now().replace(microsecond=0)
            ctx.requeue_after(_AT_ONCE)
            return
        try:
            await self._load(restore, backup, mgors, ctx)
        except MemberError as error:
            status.error = str(error)
            raise Retry(str(error), after=_SOON) from None
        except (OSError, PlaceError, dump.DamagedError) as error:
            await _end(restore, ctx, str(error))
            return
        await _end(restore, ctx, "")

    async def _load(self, restore: MgorsRestore, backup: MgorsBackup, mgors: Mgors, ctx: Context[MgorsRestore]) -> None:
        folder = folder_at(backup.status.destination, Settings.read(os.environ).backups)
        manifest = dump.read(folder, backup.status.sha256)
        connector = await find_connector(mgors, ctx, self.connect)
        primary = (await find_members(mgors, ctx, connector)).get(State.PRIMARY)
        if primary is None:
            raise MemberError(f"{mgors.name} has no primary now")
        async with connector.member(primary) as member:
            await dump.load(member, folder, manifest)
        restore.status.documents = manifest.documents

    async def cleanup(self, restore: MgorsRestore, ctx: Context[MgorsRestore]) -> None:
        """Let others go on."""
        await let_go(restore, ctx)


async def _end(restore: MgorsRestore, ctx: Context[MgorsRestore], error: str) -> None:
    status = restore.status
    status.state, status.error = ("error" if error else "ready"), error
    status.completed = ctx.now().replace(microsecond=0)
    if error:
        ctx.event("RestoreFailed", error, kind="Warning")
    else:
        ctx.event("RestoreCompleted", f"{status.documents} documents, and they are those of the backup")
    ctx.condition("Ready", not error, "RestoreFailed" if error else "RestoreCompleted", error)
    ctx.requeue_after(_AT_ONCE)  # the Lease is given back when everybody can see that it is over
