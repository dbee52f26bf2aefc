"""Backups of real databases: created, kept, verified and restored."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bson import Code, decode_all, encode
from bson.codec_options import CodecOptions
from mongod_testbed import NAME, MongodTestbed, StartTestbed
from pymongo import AsyncMongoClient
from steersman import meta
from steersman.kinds.coordination_v1 import Lease
from steersman.testing import Cluster, FakeClock, Moment, run_until_crash

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_restore_v1 import MgorsRestore, MgorsRestoreSpec
from mgors.api.mgors_v1 import BackupPlan, Mgors, MgorsSpec
from mgors.dump import NotSupportedError, kind_of
from mgors.main import operator
from mgors.manifest import batches, offset_of
from mgors.operator import mgors_operator

#: Enough for several batches, with a smaller one at the end.
DOCUMENTS = 100_000


async def backed_up(testbed: MongodTestbed, name: str = "by-hand") -> MgorsBackup:
    """Create a backup, and wait for its end."""
    spec = MgorsBackupSpec(cluster_name=NAME)
    await testbed.cluster.client.create(MgorsBackup(meta(name, namespace="default"), spec))

    def found() -> MgorsBackup:
        return next(one for one in testbed.cluster.list(MgorsBackup) if one.name == name)

    await testbed.until(lambda: found().is_finished)
    assert found().status.error == ""
    await testbed.until(lambda: not leases(testbed))
    return found()


def leases(testbed: MongodTestbed) -> list[str]:
    """Return the Leases of replica sets; a node has one as well."""
    return [lease.name for lease in testbed.cluster.list(Lease) if lease.name.startswith("mgors-")]


async def restored(testbed: MongodTestbed, name: str, backup: str) -> MgorsRestore:
    """Restore a backup, and wait for its end."""
    spec = MgorsRestoreSpec(cluster_name=NAME, backup_name=backup)
    await testbed.cluster.client.create(MgorsRestore(meta(name, namespace="default"), spec))

    def found() -> MgorsRestore:
        return next(one for one in testbed.cluster.list(MgorsRestore) if one.name == name)

    await testbed.until(lambda: found().is_finished, within=60)
    return found()


async def write_many(testbed: MongodTestbed, count: int) -> None:
    """Write documents of many kinds, with an index."""
    async with testbed.connected() as client:
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


async def test_all_data_is_lost_and_restored(start: StartTestbed, settings: Path) -> None:
    """A hundred thousand documents, all disks lost, and byte by byte the same afterwards."""
    async with start() as testbed:
        await testbed.create(3)
        await testbed.until_ready()
        await write_many(testbed, DOCUMENTS)
        backup = await backed_up(testbed)
        assert backup.status.documents == DOCUMENTS + 1
        assert (settings / backup.status.destination / "manifest.json").exists()
        for pod in testbed.pods():
            testbed.lose_disk(pod)
        await testbed.until(lambda: testbed.condition("Ready") == ("False", "DataLost"))
        await testbed.until(lambda: "DataLost" in testbed.events)
        typo = await restored(testbed, "typo", "by-hnad")
        assert typo.status.state == "error"
        await testbed.wait_reconciles(2)
        assert testbed.events.count("ReplicaSetInitiated") == 1
        restore = await restored(testbed, "again", "by-hand")
        assert (restore.status.state, restore.status.documents) == ("ready", DOCUMENTS + 1)
        await testbed.until_ready()
        assert await testbed.count() == DOCUMENTS
        async with testbed.connected() as client:
            orders = client.shop.get_collection("orders", codec_options=CodecOptions(tz_aware=True))
            assert await orders.find_one({"_id": 4711}) == _document(4711)
            assert "by_customer" in await client.shop.orders.index_information()
            assert (await client.crm.log.options())["capped"]


async def test_a_backup_that_was_changed_is_not_restored(start: StartTestbed, settings: Path) -> None:
    """Existing data stays unchanged."""
    async with start() as testbed:
        await testbed.create(1)
        await testbed.until_ready(1)
        await testbed.write(0, 10)
        backup = await backed_up(testbed)
        folder = settings / backup.status.destination
        [file] = folder.glob("*.bson")
        data = bytearray(file.read_bytes())
        data[-2] ^= 1
        file.write_bytes(data)
        restore = await restored(testbed, "again", "by-hand")
        assert restore.status.state == "error"
        assert "was changed" in restore.status.error
        assert await testbed.count() == 10
        await testbed.cluster.client.delete(backup)
        await testbed.until(lambda: not folder.exists())


async def everything(testbed: MongodTestbed) -> dict[str, Any]:
    """Return everything that a user can see in the databases: documents, definitions and indexes."""
    found: dict[str, Any] = {}
    async with testbed.connected() as client:
        for db in sorted(set(await client.list_database_names()) - {"admin", "config", "local"}):
            async for info in await client[db].list_collections():
                name = info["name"]
                if name.startswith("system.") and name != "system.js":
                    continue
                documents = [one async for one in client[db][name].find()]
                is_ordered = info.get("options", {}).get("capped")
                key = (lambda _: 0) if is_ordered else (lambda one: str(sorted(one.items(), key=str)))
                indexes = {} if info["type"] == "view" else await client[db][name].index_information()
                found[f"{db}.{name}"] = (info["type"], info.get("options"), sorted(documents, key=key), indexes)
    return found


async def write_everything(testbed: MongodTestbed) -> None:
    """Create everything that MongoDB has besides ordinary collections."""
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    async with testbed.connected() as client:
        shop = client.shop
        await shop.orders.insert_many([{"_id": number, "n": number % 7} for number in range(3_000)])
        await shop.orders.create_index([("n", 1)], name="by_n")
        await shop.create_collection("temperatures", timeseries={"timeField": "at", "metaField": "place"})
        await shop.temperatures.create_index([("place", 1), ("at", 1)], name="by_place")
        points = [{"at": long_ago + timedelta(minutes=n), "place": n % 5, "value": n} for n in range(2_000)]
        await shop.temperatures.insert_many(points)
        await shop.create_collection("few", viewOn="orders", pipeline=[{"$match": {"_id": {"$lt": 5}}}])
        await shop.create_collection("log", capped=True, size=100_000)
        await shop["log"].insert_many([{"_id": 9}, {"_id": 3}, {"_id": 5}])
        await shop.create_collection("clustered", clusteredIndex={"key": {"_id": 1}, "unique": True})
        await shop.clustered.insert_one({"_id": 1})
        await shop.create_collection("strict", validator={"a": {"$exists": True}}, validationAction="warn")
        await shop.strict.insert_one({"_id": 1, "b": 2})
        await client.crm.people.insert_one({"_id": "ann"})
        await client.crm.people.create_index([("seen", 1)], name="expiring", expireAfterSeconds=3600)
        await shop["system.js"].insert_one({"_id": "double", "value": Code("function(x) { return 2 * x; }")})


async def test_a_backup_contains_everything_and_a_restore_brings_it_back(start: StartTestbed) -> None:
    """Time series and views, too: they were silently left out, and a restore dropped them."""
    async with start() as testbed:
        await testbed.create(1)
        await testbed.until_ready(1)
        await testbed.until(lambda: "admin.admin" in testbed.users())
        await write_everything(testbed)
        before = await everything(testbed)
        backup = await backed_up(testbed)
        assert backup.status.collections == 8
        async with testbed.connected() as client:
            await client.shop.orders.delete_many({})
            await client.shop.drop_collection("temperatures")
            await client.shop.create_collection("few2", viewOn="orders", pipeline=[])
            await client.shop.later.insert_one({"_id": 1})
            await client.shop.create_collection("newer", timeseries={"timeField": "at"})
            await client.crm.drop_collection("people")
            await client.shop["system.js"].delete_many({})
            await client.other.things.insert_one({"_id": 1})
        restore = await restored(testbed, "again", "by-hand")
        assert (restore.status.state, restore.status.error) == ("ready", "")
        after = await everything(testbed)
        assert after.pop("other.things")
        assert after == before


@pytest.mark.parametrize(("name", "type_"), [("system.buckets.x", "collection"), ("a", "queue")])
def test_a_collection_that_cannot_be_backed_up_fails_the_backup(name: str, type_: str) -> None:
    """A successful backup is complete; future servers may have unknown types of collections."""
    with pytest.raises(NotSupportedError, match=name):
        kind_of("shop", {"name": name, "type": type_}, {"y"})
    assert kind_of("shop", {"name": "system.buckets.y", "type": "collection"}, {"y"}) is None


async def test_users_are_restored_if_wanted(start: StartTestbed) -> None:
    """Users that were created by hand have no Secret to create them from again."""
    async with start() as testbed:
        await testbed.create(1)
        await testbed.until_ready(1)
        await testbed.until(lambda: "admin.admin" in testbed.users())
        async with testbed.connected() as client:
            await client.shop.command({"createRole": "clerk", "privileges": [], "roles": ["read"]})
            await client.shop.command({"createUser": "ann", "pwd": "secret", "roles": ["clerk"]})
        await testbed.write(0, 10)
        spec = MgorsBackupSpec(cluster_name=NAME, users_and_roles=True)
        await testbed.cluster.client.create(MgorsBackup(meta("by-hand", namespace="default"), spec))
        await testbed.until(lambda: testbed.cluster.list(MgorsBackup)[0].status.state == "ready")
        async with testbed.connected() as client:
            await client.shop.command({"dropUser": "ann"})
            await client.shop.command({"dropRole": "clerk"})
        restore = MgorsRestoreSpec(cluster_name=NAME, backup_name="by-hand", users_and_roles=True)
        await testbed.cluster.client.create(MgorsRestore(meta("again", namespace="default"), restore))
        await testbed.until(lambda: testbed.cluster.list(MgorsRestore)[0].is_finished)
        assert testbed.cluster.list(MgorsRestore)[0].status.error == ""
        uri = f"mongodb://ann:secret@{testbed.host('shop-0')}/?replicaSet=shop&authSource=shop"
        client = AsyncMongoClient(uri)
        try:
            assert await client.shop.orders.count_documents({}) == 10
        finally:
            await client.close()


async def test_a_restore_with_indexes_ends_while_a_member_is_down(start: StartTestbed) -> None:
    """An index build waits for all voters by default; each retry dropped all databases again, forever."""
    async with start() as testbed:
        await testbed.create(3)
        await testbed.until_ready()
        await write_many(testbed, 30_000)
        async with testbed.connected() as client:
            await client.crm.people.insert_one({"_id": 1})
            await client.crm.people.create_index([("seen", 1)], name="expiring", expireAfterSeconds=3600)
        await backed_up(testbed)
        testbed.take_down(testbed.secondaries[0])
        async with testbed.connected() as client:
            await client.shop.orders.delete_many({"_id": {"$gt": 5}})
        restore = await restored(testbed, "again", "by-hand")
        assert (restore.status.state, restore.status.phase) == ("ready", "Done")
        assert await testbed.count() == 30_000


async def test_existing_data_stays_until_the_backup_is_loaded_and_verified(start: StartTestbed, settings: Path) -> None:
    """A damaged backup, or a primary that is killed, must cost nothing."""
    async with start(is_operated=False) as testbed:
        async with testbed.cluster.running(operator):
            await testbed.create(1)
            await testbed.until_ready(1)
            await testbed.until(lambda: "admin.admin" in testbed.users())
            await write_many(testbed, 25_000)
            backup = await backed_up(testbed)
            await testbed.write(1_000_000, 1)
        spec = MgorsRestoreSpec(cluster_name=NAME, backup_name="by-hand")
        await testbed.cluster.client.create(MgorsRestore(meta("again", namespace="default"), spec))
        await run_until_crash(testbed.cluster, mgors_operator, AtTheSecondInsert())
        assert await testbed.count() == 25_001
        file = max((settings / backup.status.destination).glob("*.bson"), key=lambda found: found.stat().st_size)
        data = bytearray(file.read_bytes())
        data[-3] ^= 1
        file.write_bytes(data)
        async with testbed.cluster.running(operator):
            await testbed.until(lambda: testbed.cluster.list(MgorsRestore)[0].is_finished)
        assert "shop.orders, was changed" in testbed.cluster.list(MgorsRestore)[0].status.error
        assert await testbed.count() == 25_001
        async with testbed.connected() as client:
            assert set(await client.shop.list_collection_names()) == {"orders"}


async def test_a_deleted_restore_leaves_no_collections_behind(start: StartTestbed) -> None:
    """It was deleted while it loaded: half a copy of the data would stay forever."""
    async with start(is_operated=False) as testbed:
        async with testbed.cluster.running(operator):
            await testbed.create(1)
            await testbed.until_ready(1)
            await testbed.until(lambda: "admin.admin" in testbed.users())
            await write_many(testbed, 5_000)
            await backed_up(testbed)
        spec = MgorsRestoreSpec(cluster_name=NAME, backup_name="by-hand")
        restore = await testbed.cluster.client.create(MgorsRestore(meta("again", namespace="default"), spec))
        await run_until_crash(testbed.cluster, mgors_operator, AtTheSecondInsert())
        await testbed.cluster.client.delete(restore)
        async with testbed.cluster.running(operator):
            await testbed.cluster.client.wait_deleted(restore, timeout=30)
        async with testbed.connected() as client:
            assert set(await client.shop.list_collection_names()) == {"orders"}
        assert await testbed.count() == 5_000


class AtTheSecondInsert:
    """Crash an operator in the middle of loading."""

    moment: Moment = "after"

    def matches(self, writes: Sequence[str]) -> bool:
        """Return whether the last write was the second batch."""
        return sum(1 for write in writes if write.startswith("mongodb: insert mgors-new.") and ".orders" in write) == 2


def files(folder: Path) -> list[Path]:
    """Return all files of a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


class AtTheDump:
    """Crash an operator after a dump is complete, before it is in the status."""

    moment: Moment = "after"

    def matches(self, writes: Sequence[str]) -> bool:
        """Return whether the last write was the dump."""
        return writes[-1].startswith("mongodb: dump")


async def test_a_deleted_backup_without_a_final_status_leaves_no_files(start: StartTestbed, settings: Path) -> None:
    """The operator crashed when the files were complete, and then the object was deleted."""
    async with start(is_operated=False) as testbed:
        async with testbed.cluster.running(operator):
            await testbed.create(1)
            await testbed.until_ready(1)
            await testbed.write(0, 10)
        spec = MgorsBackupSpec(cluster_name=NAME)
        backup = await testbed.cluster.client.create(MgorsBackup(meta("by-hand", namespace="default"), spec))
        await run_until_crash(testbed.cluster, mgors_operator, AtTheDump())
        assert [file.name for file in files(settings)] == ["0000.bson", "manifest.json"]
        await testbed.cluster.client.delete(backup)
        async with testbed.cluster.running(operator):
            await testbed.cluster.client.wait_deleted(backup, timeout=30)
        assert files(settings) == []


async def test_missed_backups_are_made_up_for_once(start: StartTestbed) -> None:
    """The operator was down for three days; one backup is enough, and it is made only once."""
    async with start(is_operated=False) as testbed:
        async with testbed.cluster.running(operator):
            await testbed.create(1)
            await testbed.until_ready(1)
            await testbed.write(0, 10)
        now = testbed.cluster.clock.now()
        last = (now - timedelta(hours=12)).replace(minute=0, second=0, microsecond=0)
        mgors = testbed.mgors
        mgors.status.last_schedule_time = now - timedelta(days=3)
        await testbed.cluster.client.status.update(mgors)
        await testbed.patch({"backup": {"schedule": f"0 {last.hour} * * *", "startingDeadlineSeconds": 400_000}})
        due = f"{NAME}-{last:%Y%m%d-%H%M%S}"
        for _ in range(2):
            async with testbed.cluster.running(operator):
                await testbed.until(lambda: testbed.condition("BackupHealthy")[0] == "True")
                await testbed.until(lambda: testbed.mgors.status.last_backup == due)
            assert [(one.name, one.status.documents) for one in testbed.cluster.list(MgorsBackup)] == [(due, 10)]


async def test_backups_of_a_schedule_do_not_queue_up(
    cluster: Cluster, fake_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No member can be read for ten minutes: the first backup waits, and nine more would not help."""
    monkeypatch.setenv("MGORS_LOOK_AGAIN", "20")
    async with cluster.running(operator):
        spec = MgorsSpec(members=1, backup=BackupPlan(schedule="* * * * *"))
        await cluster.client.create(Mgors(meta(NAME, namespace="default"), spec))
        await fake_clock.advance(600)
        assert len(cluster.list(MgorsBackup)) == 1


async def test_a_schedule_is_followed(start: StartTestbed, settings: Path) -> None:
    """One backup for each time; the newest are kept, and the files of the others deleted."""
    async with start() as testbed:
        plan = BackupPlan(schedule="@every 2s", keep=2)
        await testbed.create(1, backup=plan)
        await testbed.until_ready(1)
        await testbed.write(0, 10)

        def names() -> list[str]:
            return sorted(one.name for one in testbed.cluster.list(MgorsBackup))

        await testbed.until(lambda: testbed.condition("BackupHealthy")[0] == "True")
        first = names()[0]
        await testbed.until(lambda: first not in names())
        await testbed.patch({"backup": {"schedule": None}})
        await testbed.until(lambda: all(one.is_finished for one in testbed.cluster.list(MgorsBackup)))
        await testbed.until(lambda: len(names()) == len(list(settings.rglob("manifest.json"))) == 2)
        assert {one.status.documents for one in testbed.cluster.list(MgorsBackup)} <= {0, 10}


def test_a_file_is_read_from_any_document_on(tmp_path: Path) -> None:
    """An interrupted restore continues in the middle of a file."""
    documents = [encode({"_id": number, "text": "x" * number}) for number in range(2_500)]
    file = tmp_path / "0000.bson"
    file.write_bytes(b"".join(documents))
    assert [len(decode_all(batch)) for batch in batches(file)] == [1000, 1000, 500]
    assert b"".join(batches(file, offset_of(file, 1_234))) == b"".join(documents[1_234:])
    assert list(batches(file, offset_of(file, 2_500))) == []
