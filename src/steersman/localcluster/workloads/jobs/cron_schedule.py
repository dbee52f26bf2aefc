"""When a CronJob is due: the last time that was missed, and the next. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from steersman.kinds.batch_v1 import CronJob
from steersman.objects.cron import CronSchedule, zone_named

#: Limit of missed times: beyond, a clock is wrong, or the controller did not run for long.
TOO_MANY = 100
_EARLIEST = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class DueRuns:
    """What a CronJob is to do now."""

    #: The last time that it should have run, if it has not.
    missed: datetime | None
    #: Whether it missed very many.
    too_many: bool
    #: When it is due next.
    following: datetime | None


def schedule_of(cron_job: CronJob) -> CronSchedule:
    """Parse a CronJob's schedule; raises ``ScheduleError``."""
    return CronSchedule.parse(cron_job.spec.schedule, zone=zone_named(cron_job.spec.time_zone or "UTC"))


def due(cron_job: CronJob, now: datetime) -> DueRuns:
    """Return the scheduled times since the CronJob last ran, or was created."""
    schedule = schedule_of(cron_job)
    since = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp or now
    limit = cron_job.spec.starting_deadline_seconds
    if limit is not None:
        since = max(since, now - timedelta(seconds=limit))
    missed, count = None, 0
    for missed in schedule.between(since, now):
        count += 1
        if count > TOO_MANY:
            missed = _latest(schedule, now)
            break
    return DueRuns(missed, count > TOO_MANY, schedule.next_after(now))


def _latest(schedule: CronSchedule, now: datetime) -> datetime | None:
    """Return the last time that is not after now, looking back further and further."""
    back = timedelta(minutes=2)
    while back < _EARLIEST:
        latest = None
        for latest in schedule.between(now - back, now):  # noqa: B007 - the last one is what counts
            pass
        if latest is not None:
            return latest
        back *= 4
    return None
