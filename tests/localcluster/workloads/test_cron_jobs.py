from typing import Any

from steersman.kinds.batch_v1 import CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec
from steersman.localcluster.workloads.jobs import cron_reconciler as cron_jobs
from steersman.localcluster.workloads.jobs import reconciler as jobs
from steersman.objects.meta import meta
from steersman.objects.times import format_time
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import events_of, node_and, template

#: The fake clock starts at midnight, 1 January 2030.
MINUTE = 1893456000 // 60


def cron_job(schedule: str = "*/10 * * * *", *, run_for: str = "1s", **spec: Any) -> CronJob:
    """Return a CronJob whose pods run for a while."""
    pods = template(app="cron", restart="Never", run_for=run_for)
    made = JobTemplateSpec(metadata=meta(labels={"made": "by-cron"}), spec=JobSpec(template=pods))
    return CronJob(meta("tick"), spec=CronJobSpec(schedule=schedule, job_template=made, **spec))


def minutes(cluster: Cluster) -> list[int]:
    """Return the minutes after midnight of all existing Jobs, by their names."""
    return sorted(int(one.name.rpartition("-")[2]) - MINUTE for one in cluster.list(Job))


def last(cluster: Cluster) -> str:
    """Return when the CronJob last ran."""
    (found,) = cluster.list(CronJob)
    return format_time(found.status.last_schedule_time) if found.status.last_schedule_time is not None else ""


async def test_a_job_is_created_each_time_and_the_oldest_are_deleted(cluster: Cluster, fake_clock: FakeClock) -> None:
    """One Job for each scheduled time, named by its minute; three successful ones are kept."""
    async with node_and(cluster, cron_jobs.operator, jobs.operator):
        await cluster.client.create(cron_job(run_for="20s"))
        await fake_clock.advance(9 * 60)
        assert minutes(cluster) == []
        await fake_clock.advance(61)
        assert minutes(cluster) == [10]
        (first,) = cluster.list(Job)
        assert first.labels["made"] == "by-cron"
        assert first.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] == "2030-01-01T00:10:00Z"
        assert [one.name for one in cluster.list(CronJob)[0].status.active or ()] == [first.name]
        await fake_clock.advance(45 * 60)
        assert minutes(cluster) == [30, 40, 50]
        assert last(cluster) == "2030-01-01T00:50:00Z"
        assert cluster.list(CronJob)[0].status.active is None
        assert cluster.list(CronJob)[0].status.last_successful_time is not None
        text = f"SawCompletedJob: Saw completed job: {first.name}, condition: Complete"
        assert text in events_of(cluster, "CronJob")


async def test_after_a_pause_only_the_last_missed_time_is_run(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A laptop that slept for a night must not start fifty jobs in the morning."""
    async with node_and(cluster, cron_jobs.operator, jobs.operator):
        await cluster.client.create(cron_job())
        await fake_clock.advance(15 * 60)
    await fake_clock.advance(8 * 3600)
    async with node_and(cluster, cron_jobs.operator, jobs.operator):
        await fake_clock.advance(60)
        assert minutes(cluster) == [10, 8 * 60 + 10]
        assert not any(line.startswith("TooMany") for line in events_of(cluster, "CronJob"))


async def test_very_many_missed_times_are_reported(cluster: Cluster, fake_clock: FakeClock) -> None:
    """More than a hundred missed times point to a wrong clock; the last one still runs."""
    async with cluster.running(cron_jobs.operator):
        await cluster.client.create(cron_job("* * * * *", suspend=True))
    await fake_clock.advance(5 * 3600)
    async with cluster.running(cron_jobs.operator):
        await cluster.client.patch(cluster.list(CronJob)[0], {"spec": {"suspend": False}})
        await fake_clock.advance(1)
        assert len(minutes(cluster)) == 1
        assert any(line.startswith("TooManyMissedTimes") for line in events_of(cluster, "CronJob"))


async def test_a_time_before_the_starting_deadline_is_not_run(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A report that is due at night is useless at noon; users set a deadline to prevent it."""
    async with cluster.running(cron_jobs.operator):
        await cluster.client.create(cron_job("0 3 * * *", starting_deadline_seconds=600, suspend=True))
        await fake_clock.advance(5 * 3600)
        await cluster.client.patch(cluster.list(CronJob)[0], {"spec": {"suspend": False}})
        await fake_clock.advance(3600)
        assert minutes(cluster) == []


async def test_the_concurrency_policy_is_applied(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A slow job may overlap, is waited for, or is replaced."""
    async with node_and(cluster, cron_jobs.operator, jobs.operator):
        tick = await cluster.client.create(cron_job(run_for="15m", concurrency_policy="Forbid"))
        await fake_clock.advance(24 * 60)
        assert minutes(cluster) == [10], "the second had to wait"
        assert any(line.startswith("JobAlreadyActive") for line in events_of(cluster, "CronJob"))
        await fake_clock.advance(2 * 60)
        assert minutes(cluster) == [10, 20], "it was made up for when the first was done"
        await cluster.client.patch(tick, {"spec": {"concurrencyPolicy": "Replace"}})
        await fake_clock.advance(5 * 60)
        assert minutes(cluster) == [10, 30]
        await cluster.client.patch(tick, {"spec": {"concurrencyPolicy": "Allow"}})
        await fake_clock.advance(10 * 60)
        assert minutes(cluster) == [10, 30, 40]


async def test_a_schedule_uses_its_time_zone(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Five in the morning in Tokyo is eight in the evening in London."""
    async with cluster.running(cron_jobs.operator):
        await cluster.client.create(cron_job("0 5 * * *", time_zone="Asia/Tokyo"))
        await fake_clock.advance(24 * 3600)
        assert minutes(cluster) == [20 * 60]
        (made,) = cluster.list(Job)
        shown = made.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]
        assert shown == "2030-01-02T05:00:00+09:00"


async def test_a_suspended_schedule_starts_nothing(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A user suspends it for a reason."""
    async with cluster.running(cron_jobs.operator):
        await cluster.client.create(cron_job(suspend=True))
        await fake_clock.advance(3600)
        assert minutes(cluster) == []
        assert last(cluster) == ""
