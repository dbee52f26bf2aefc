"""Scheduled backups of a replica set: create the one that is due, and delete those that are not kept."""

import re
from datetime import datetime
from pathlib import Path

from steersman import Context, SteersmanError, meta
from steersman.errors import AlreadyExists
from steersman.objects import CronSchedule, ScheduleError

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_v1 import BackupPlan, Mgors
from mgors.metrics import Metrics
from mgors.names import CLUSTER
from mgors.schedule import backup_name, due, expired

#: Marks a scheduled backup, with the time at which it was due.
SCHEDULED = "mongo.example.com/scheduled-at"
_FOLDER = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")


class DestinationError(SteersmanError):
    """The destination of a backup is invalid."""


async def run_backup_schedule(mgors: Mgors, ctx: Context[Mgors], metrics: Metrics) -> None:
    """Create the backup that is due, delete those that are not kept, and report the result of the last one."""
    backups = [one for one in await ctx.list(MgorsBackup) if one.spec.cluster_name == mgors.name]
    _report_last_backup(mgors, ctx, backups, metrics)
    plan = mgors.spec.backup
    if plan is None or mgors.spec.pause:
        return
    scheduled = [one for one in backups if SCHEDULED in one.metadata.annotations]
    for old in expired(scheduled, plan.keep):
        await ctx.client.delete(old, missing_ok=True)
    if not plan.schedule or any(not one.is_finished for one in scheduled):
        return  # a backup that becomes due while one runs is made up for afterwards, once
    try:
        await _make(mgors, ctx, plan, scheduled)
    except ScheduleError as error:
        message = f"spec.backup.schedule: {error}"
        if ctx.condition("BackupHealthy", False, "InvalidSchedule", message):
            ctx.event("InvalidSchedule", message, kind="Warning")


async def _make(mgors: Mgors, ctx: Context[Mgors], plan: BackupPlan, scheduled: list[MgorsBackup]) -> None:
    schedule = CronSchedule.parse(plan.schedule or "")
    # Existing backups count as well: an erased status must not cause another backup.
    times = [datetime.fromisoformat(one.metadata.annotations[SCHEDULED]) for one in scheduled]
    begin = mgors.status.last_schedule_time or mgors.metadata.creation_timestamp or ctx.now()
    last = max([begin, *times])
    found = due(schedule, last=last, now=ctx.now(), deadline=plan.starting_deadline_seconds)
    if found.at is not None:
        name = backup_name(mgors.name, found.at)
        about = meta(name, labels={CLUSTER: mgors.name}, annotations={SCHEDULED: found.at.isoformat()})
        about.namespace = mgors.namespace
        try:
            # Not owned: backups outlive the replica set.
            await ctx.create(MgorsBackup(about, MgorsBackupSpec(cluster_name=mgors.name)), owned=False)
        except AlreadyExists:
            ctx.log.info("the backup exists already", extra={"backup": name})
        last = found.at
    mgors.status.last_schedule_time = last
    if found.wait is not None:
        ctx.requeue_after(max(found.wait, 0.001))


def _report_last_backup(mgors: Mgors, ctx: Context[Mgors], backups: list[MgorsBackup], metrics: Metrics) -> None:
    over = [one for one in backups if one.is_finished and one.status.completed is not None]
    if not over:
        return
    newest = max(over, key=lambda one: (one.status.completed, one.name))
    if newest.status.state == "error":
        message = f"{newest.name}: {newest.status.error}"
        if ctx.condition("BackupHealthy", False, "BackupFailed", message):
            ctx.event("BackupFailed", message, kind="Warning")
        return
    ctx.condition("BackupHealthy", True, "BackupSucceeded")
    if newest.name != mgors.status.last_backup:
        mgors.status.last_backup = newest.name
        ctx.event("BackupSucceeded", f"{newest.name} has {newest.status.documents} documents")
    if newest.status.completed is not None:
        metrics.report_backup(mgors, newest.status.completed)


def folder_of(mgors: Mgors) -> str:
    """Return the folder of all backups of a replica set, relative to the volume of backups."""
    plan = mgors.spec.backup
    folder = plan.storage.folder if plan and plan.storage else ""
    if folder and not _FOLDER.fullmatch(folder):
        raise DestinationError(f"spec.backup.storage.folder: {folder!r} is not the name of one folder")
    return "/".join(part for part in (mgors.namespace, folder, mgors.name) if part)


def destination_of(backup: MgorsBackup, mgors: Mgors) -> str:
    """Return the folder of a backup, relative to the volume of backups."""
    return f"{folder_of(mgors)}/{backup.name}"


def folder_at(destination: str, root: Path) -> Path:
    """Return the path of a backup; reject paths outside of the volume of backups."""
    folder = (root / destination).resolve()
    if not destination or not folder.is_relative_to(root.resolve()) or folder == root.resolve():
        raise DestinationError(f"{destination!r} is not a folder in the volume of backups")
    return folder
