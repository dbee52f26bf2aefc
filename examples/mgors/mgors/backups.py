"""The backups of a replica set that are made by themselves: one whenever the schedule says so, and some are kept."""

import re
from datetime import datetime
from pathlib import Path

from steersman import Context, SteersmanError, meta
from steersman.errors import AlreadyExists
from steersman.objects import CronSchedule, ScheduleError

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_v1 import BackupPlan, Mgors
from mgors.metrics import Metrics
from mgors.objects import CLUSTER
from mgors.schedule import backup_name, due, outlived

#: Marks a backup that the schedule made, with the time that it was due at.
SCHEDULED = "mongo.example.com/scheduled-at"
_FOLDER = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")


class PlaceError(SteersmanError):
    """Backups cannot be there."""


async def keep_backups(mgors: Mgors, ctx: Context[Mgors], metrics: Metrics) -> None:
    """Make the backup that is due, remove those that are not kept, and tell how the last one went."""
    backups = [one for one in await ctx.list(MgorsBackup) if one.spec.cluster_name == mgors.name]
    _tell(mgors, ctx, backups, metrics)
    plan = mgors.spec.backup
    if plan is None or mgors.spec.pause:
        return
    scheduled = [one for one in backups if SCHEDULED in one.metadata.annotations]
    for old in outlived(scheduled, plan.keep):
        await ctx.client.delete(old, missing_ok=True)
    if not plan.schedule or any(not one.is_finished for one in scheduled):
        return  # what falls due while one is under way is made up for afterwards, once
    try:
        await _make(mgors, ctx, plan, scheduled)
    except ScheduleError as error:
        told = f"spec.backup.schedule: {error}"
        if ctx.condition("BackupHealthy", False, "InvalidSchedule", told):
            ctx.event("InvalidSchedule", told, kind="Warning")


async def _make(mgors: Mgors, ctx: Context[Mgors], plan: BackupPlan, scheduled: list[MgorsBackup]) -> None:
    schedule = CronSchedule.parse(plan.schedule or "")
    # A status that was erased is no reason for another backup: those that are there tell as well.
    times = [datetime.fromisoformat(one.metadata.annotations[SCHEDULED]) for one in scheduled]
    begin = mgors.status.last_schedule_time or mgors.metadata.creation_timestamp or ctx.now()
    last = max([begin, *times])
    found = due(schedule, last=last, now=ctx.now(), deadline=plan.starting_deadline_seconds)
    if found.at is not None:
        name = backup_name(mgors.name, found.at)
        about = meta(name, labels={CLUSTER: mgors.name}, annotations={SCHEDULED: found.at.isoformat()})
        about.namespace = mgors.namespace
        try:
            # It is not owned: backups outlive what they are backups of.
            await ctx.create(MgorsBackup(about, MgorsBackupSpec(cluster_name=mgors.name)), owned=False)
        except AlreadyExists:
            ctx.log.info("the backup is there already", extra={"backup": name})
        last = found.at
    mgors.status.last_schedule_time = last
    if found.wait is not None:
        ctx.requeue_after(max(found.wait, 0.001))


def _tell(mgors: Mgors, ctx: Context[Mgors], backups: list[MgorsBackup], metrics: Metrics) -> None:
    over = [one for one in backups if one.is_finished and one.status.completed is not None]
    if not over:
        return
    newest = max(over, key=lambda one: (one.status.completed, one.name))
    if newest.status.state == "error":
        told = f"{newest.name}: {newest.status.error}"
        if ctx.condition("BackupHealthy", False, "BackupFailed", told):
            ctx.event("BackupFailed", told, kind="Warning")
        return
    ctx.condition("BackupHealthy", True, "BackupSucceeded")
    if newest.name != mgors.status.last_backup:
        mgors.status.last_backup = newest.name
        ctx.event("BackupSucceeded", f"{newest.name} has {newest.status.documents} documents")
    if newest.status.completed is not None:
        metrics.report_backup(mgors, newest.status.completed)


def destination_of(backup: MgorsBackup, mgors: Mgors) -> str:
    """Give the folder of a backup, below the volume of backups."""
    plan = mgors.spec.backup
    folder = plan.storage.folder if plan and plan.storage else ""
    if folder and not _FOLDER.fullmatch(folder):
        raise PlaceError(f"spec.backup.storage.folder must be the name of one folder, and {folder!r} is none")
    return "/".join(part for part in (backup.namespace, folder, mgors.name, backup.name) if part)


def folder_at(destination: str, root: Path) -> Path:
    """Give the folder of a backup. One outside of the volume is nobody's backup."""
    folder = (root / destination).resolve()
    if not destination or not folder.is_relative_to(root.resolve()) or folder == root.resolve():
        raise PlaceError(f"{destination!r} is not a place of backups")
    return folder
