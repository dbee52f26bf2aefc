"""Backups of real databases: made, kept, checked, and loaded again."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bson.codec_options import CodecOptions
from mongod_world import NAME, StartWorld, World
from steersman import meta
from steersman.kinds.coordination_v1 import Lease
from steersman.testing import Cluster, FakeClock, Moment, run_until_crash

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_restore_v1 import MgorsRestore, MgorsRestoreSpec
from mgors.api.mgors_v1 import BackupPlan, Mgors, MgorsSpec
from mgors.main import operator
from mgors.operator import mgors_operator

#: Enough to take several batches, with an odd one at the end.
DOCUMENTS = 100_000


async def backed_up(world: World, name: str = "by-hand") -> MgorsBackup:
    """Make a backup, and wait for its end."""
    spec = MgorsBackupSpec(cluster_name=NAME)
    await world.cluster.client.create(MgorsBackup(meta(name, namespace="default"), spec))

    def found() -> MgorsBackup:
        return next(one for one in world.cluster.list(MgorsBackup) if one.name == name)

    await world.until(lambda: found().is_finished)
    assert found().status.error == ""
    await world.until(lambda: not leases(world))
    return found()


def leases(world: World) -> list[str]:
    """Give the Leases of replica sets; a node has one as well."""
    return [lease.name for lease in world.cluster.list(Lease) if lease.name.startswith("mgors-")]


async def restored(world: World, name: str, backup: str) -> MgorsRestore:
    """Restore a backup, and wait for its end."""
    spec = MgorsRestoreSpec(cluster_name=NAME, backup_name=backup)
    await world.cluster.client.create(MgorsRestore(meta(name, namespace="default"), spec))

    def found() -> MgorsRestore:
        return next(one for one in world.cluster.list(MgorsRestore) if one.name == name)

    await world.until(lambda: found().is_finished, within=60)
    return found()


async def write_many(world: World, count: int) -> None:
    """Write documents of many kinds, with an index."""
    async with world.connected() as client:
        orders = client.shop.orders
        for first in range(0, count, 10_000):
            numbers = range(first, min(first + 10_000, count))
            await orders.insert_many([_document(number) for number in numbers])
        await orders.create_index([("customer", 1)], name="by_customer")
        await client.crm.create_collection("log", capped=True, size=100_000)
        await client.crm.log.insert_one({"_id": "first"})


def _document(number: int) -> dict[str, Any]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return {"_id": number, "customer": f"c{number % 97}", "at": at, "lines": [{"sku": "x" * 20, "n": number}]}


async def test_everything_is_lost_and_restored(start: StartWorld, settings: Path) -> None:
    """A hundred thousand documents, all disks gone, and byte by byte the same afterwards."""
    async with start() as world:
        await world.create(3)
        await world.until_ready()
        await write_many(world, DOCUMENTS)
        backup = await backed_up(world)
        assert backup.status.documents == DOCUMENTS + 1
        assert (settings / backup.status.destination / "manifest.json").exists()
        for pod in world.pods():
            world.lose_disk(pod)
        await world.until(lambda: world.condition("Ready") == ("False", "DataLost"))
        await world.until(lambda: "DataLost" in world.events)
        restore = await restored(world, "again", "by-hand")
        assert (restore.status.state, restore.status.documents) == ("ready", DOCUMENTS + 1)
        await world.until_ready()
        assert await world.count() == DOCUMENTS
        async with world.connected() as client:
            orders = client.shop.get_collection("orders", codec_options=CodecOptions(tz_aware=True))
            assert await orders.find_one({"_id": 4711}) == _document(4711)
            assert "by_customer" in await client.shop.orders.index_information()
            assert (await client.crm.log.options())["capped"]


async def test_a_backup_that_was_changed_is_not_restored(start: StartWorld, settings: Path) -> None:
    """What is there stays as it is."""
    async with start() as world:
        await world.create(1)
        await world.until_ready(1)
        await world.write(0, 10)
        backup = await backed_up(world)
        folder = settings / backup.status.destination
        [file] = folder.glob("*.bson")
        data = bytearray(file.read_bytes())
        data[-2] ^= 1
        file.write_bytes(data)
        restore = await restored(world, "again", "by-hand")
        assert restore.status.state == "error"
        assert "was changed" in restore.status.error
        assert await world.count() == 10
        await world.cluster.client.delete(backup)
        await world.until(lambda: not folder.exists())


def files(folder: Path) -> list[Path]:
    """Give all files of a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


class AtTheDump:
    """Ends an operator when a dump is complete, and nobody knows of it."""

    moment: Moment = "after"

    def comes(self, writes: Sequence[str]) -> bool:
        """Tell whether that was the dump."""
        return writes[-1].startswith("dump")


async def test_a_backup_that_nobody_could_tell_of_leaves_no_data(start: StartWorld, settings: Path) -> None:
    """The operator died when the files were complete, and then the object was deleted: they go with it."""
    async with start(is_operated=False) as world:
        async with world.cluster.running(operator):
            await world.create(1)
            await world.until_ready(1)
            await world.write(0, 10)
        spec = MgorsBackupSpec(cluster_name=NAME)
        backup = await world.cluster.client.create(MgorsBackup(meta("by-hand", namespace="default"), spec))
        await run_until_crash(world.cluster, lambda fuse: mgors_operator(fuse.carry_out), AtTheDump())
        assert [file.name for file in files(settings)] == ["0000.bson", "manifest.json"]
        await world.cluster.client.delete(backup)
        async with world.cluster.running(operator):
            await world.cluster.client.wait_deleted(backup, timeout=30)
        assert files(settings) == []


async def test_what_was_missed_is_made_up_for_once(start: StartWorld) -> None:
    """The operator was away for three days; one backup is as good as three, and nobody makes it twice."""
    async with start(is_operated=False) as world:
        async with world.cluster.running(operator):
            await world.create(1)
            await world.until_ready(1)
            await world.write(0, 10)
        now = world.cluster.clock.now()
        last = (now - timedelta(hours=12)).replace(minute=0, second=0, microsecond=0)
        mgors = world.mgors
        mgors.status.last_schedule_time = now - timedelta(days=3)
        await world.cluster.client.status.update(mgors)
        await world.patch({"backup": {"schedule": f"0 {last.hour} * * *", "startingDeadlineSeconds": 400_000}})
        due = f"{NAME}-{last:%Y%m%d-%H%M%S}"
        for _ in range(2):
            async with world.cluster.running(operator):
                await world.until(lambda: world.condition("BackupHealthy")[0] == "True")
                await world.until(lambda: world.mgors.status.last_backup == due)
            assert [(one.name, one.status.documents) for one in world.cluster.list(MgorsBackup)] == [(due, 10)]


async def test_backups_of_a_schedule_do_not_queue_up(
    cluster: Cluster, fake_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nobody to be read for ten minutes: the first one waits, and another nine would be no better."""
    monkeypatch.setenv("MGORS_LOOK_AGAIN", "20")
    async with cluster.running(operator):
        spec = MgorsSpec(members=1, backup=BackupPlan(schedule="* * * * *"))
        await cluster.client.create(Mgors(meta(NAME, namespace="default"), spec))
        await fake_clock.advance(600)
        assert len(cluster.list(MgorsBackup)) == 1


async def test_a_schedule_is_kept(start: StartWorld, settings: Path) -> None:
    """One backup for each time, the newest are kept, and the data of the others goes."""
    async with start() as world:
        plan = BackupPlan(schedule="@every 2s", keep=2)
        await world.create(1, backup=plan)
        await world.until_ready(1)
        await world.write(0, 10)

        def names() -> list[str]:
            return sorted(one.name for one in world.cluster.list(MgorsBackup))

        await world.until(lambda: world.condition("BackupHealthy")[0] == "True")
        first = names()[0]
        await world.until(lambda: first not in names())
        await world.patch({"backup": {"schedule": None}})
        await world.until(lambda: all(one.is_finished for one in world.cluster.list(MgorsBackup)))
        await world.until(lambda: len(names()) == len(list(settings.rglob("manifest.json"))) == 2)
        assert {one.status.documents for one in world.cluster.list(MgorsBackup)} <= {0, 10}
