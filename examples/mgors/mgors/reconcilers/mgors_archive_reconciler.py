"""The reconciler of MgorsArchive: copy new entries of the oplog into slices, and delete those that no backup needs."""

import os
from dataclasses import dataclass

from steersman import Context, Retry

from mgors.api.mgors_archive_v1 import Gap, MgorsArchive
from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_v1 import Mgors
from mgors.archive_store import ArchiveStore, archive_of
from mgors.archives import archiving_of, bases_of
from mgors.archiving import PARTIAL, Archived, Lost, NothingNew, Outcome, archive_from, last_committed
from mgors.backup_store import is_temporary
from mgors.backups import DestinationError, folder_of
from mgors.connections import Dial, MemberError
from mgors.discovery import find_connector, find_readable
from mgors.oplog import Position, useless
from mgors.s3 import S3Error
from mgors.settings import Settings

_AT_ONCE, _SOON, _LATER = 0.001, 2.0, 30.0
#: Gaps that the status lists.
_MOST_GAPS = 20


@dataclass(frozen=True, slots=True)
class MgorsArchiveReconciler:
    """Reconciles archives."""

    dial: Dial

    async def reconcile(self, archive: MgorsArchive, ctx: Context[MgorsArchive]) -> None:
        """Copy what is new, and report what can be restored."""
        mgors, status = await ctx.get(Mgors, archive.spec.cluster_name), archive.status
        plan = archiving_of(mgors)
        if mgors is None or plan is None:
            status.state = "stopped"
            return
        if not status.destination:
            # It stays the same for all slices, and a cleanup finds them even if the operator crashes.
            status.destination = f"{folder_of(mgors)}/.oplog"
            status.s3 = mgors.spec.backup.storage.s3 if mgors.spec.backup and mgors.spec.backup.storage else None
            ctx.requeue_after(_AT_ONCE)
            return
        try:
            store = await archive_of(archive, ctx, Settings.read(os.environ).backups)
            outcome = await self._copy(archive, mgors, store, ctx)
        except (MemberError, S3Error, OSError, DestinationError) as error:
            status.error = str(error)
            ctx.condition("Archiving", False, "Failed", str(error))
            raise Retry(str(error), after=_SOON if is_temporary(error) else _LATER) from None
        status.state = "archiving"
        status.error = outcome.problem if isinstance(outcome, NothingNew) else ""
        ctx.condition("Archiving", not status.error, "Waiting" if status.error else "AsAskedFor", status.error)
        await _tidy(archive, store, ctx)
        is_behind = isinstance(outcome, Archived) and outcome.is_full
        ctx.requeue_after(_AT_ONCE if is_behind else plan.every_seconds)

    async def _copy(
        self, archive: MgorsArchive, mgors: Mgors, store: ArchiveStore, ctx: Context[MgorsArchive]
    ) -> Outcome:
        status = archive.status
        connector = await find_connector(mgors, ctx, self.dial)
        hosts, silent = await find_readable(mgors, ctx, connector)
        if not hosts:
            raise MemberError(f"no member of {mgors.name} can be read now")
        after = await _end(archive, store)
        if after is None:
            status.since = status.until = (await last_committed(connector, hosts[0])).exact
            ctx.event("ArchivingStarted", f"the oplog is archived from {Position.parse(status.until).described()} on")
            return NothingNew()
        for left in store.folder.glob(f"*{PARTIAL}"):
            left.unlink(missing_ok=True)
        outcome = await archive_from(connector, hosts, store.folder, after)
        match outcome:
            case Archived(slice=found, file=file, entries=entries):
                await store.save(found, file)
                status.until, status.entries = found.end.exact, status.entries + entries
            case Lost(reason=reason) if silent:
                raise MemberError(f"{reason}; {', '.join(silent)} may have it, but does not respond")
            case Lost(reason=reason, restart=restart):
                _report_gap(archive, ctx, Gap(after=str(after), before=str(restart), reason=reason))
                status.since = status.until = restart.exact
            case NothingNew():
                pass
        return outcome

    async def cleanup(self, archive: MgorsArchive, ctx: Context[MgorsArchive]) -> None:
        """Delete all slices."""
        if not archive.status.destination:
            return
        try:
            store = await archive_of(archive, ctx, Settings.read(os.environ).backups)
            await store.delete(await store.slices())
        except DestinationError as error:
            ctx.log.warning("no slices are deleted", extra={"error": str(error)})
        except S3Error as error:
            raise Retry(str(error), after=_LATER) from None


async def _end(archive: MgorsArchive, store: ArchiveStore) -> Position | None:
    """Return where archiving continues; if the status was erased, after the last slice in the storage."""
    if archive.status.until:
        return Position.parse(archive.status.until)
    return max((one.end for one in await store.slices()), default=None)


def _report_gap(archive: MgorsArchive, ctx: Context[MgorsArchive], gap: Gap) -> None:
    archive.status.gaps = [*archive.status.gaps, gap][-_MOST_GAPS:]
    after, before = Position.parse(gap.after), Position.parse(gap.before)
    message = f"entries after {after.described()} and before {before.described()} are not archived: {gap.reason}"
    ctx.event("OplogGap", message, kind="Warning")


async def _tidy(archive: MgorsArchive, store: ArchiveStore, ctx: Context[MgorsArchive]) -> None:
    """Report which moments can be restored, and delete slices that no backup needs."""
    status = archive.status
    bases = bases_of([one for one in await ctx.list(MgorsBackup) if one.spec.cluster_name == archive.spec.cluster_name])
    since = Position.parse(status.since or "0")
    usable = [one for one in bases if one.at.place >= since.place]
    status.restorable_from = min((one.usable_from.time for one in usable), default=None)
    status.restorable_to = Position.parse(status.until).time if usable else None
    message = "" if usable else f"no backup was made after {since.described()}: create one"
    ctx.condition("Restorable", bool(usable), "AsAskedFor" if usable else "NoBackup", message)
    oldest = min((one.at for one in bases), default=None)
    if oldest is not None and str(oldest) != status.kept_from:
        await store.delete(useless(await store.slices(), [oldest]))
        status.kept_from = str(oldest)
