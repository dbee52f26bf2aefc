"""A moment between two backups is restored from the archived oplog."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mongod_testbed import NAME, MongodTestbed, StartTestbed
from steersman import meta
from steersman.testing import Moment, run_until_crash

from mgors.api.mgors_archive_v1 import MgorsArchive
from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_restore_v1 import MgorsRestore, MgorsRestoreSpec
from mgors.api.mgors_v1 import BackupPlan, PointInTime
from mgors.main import operator
from mgors.operator import mgors_operator
from mgors.oplog import Position

PLAN = BackupPlan(point_in_time=PointInTime(every_seconds=1))
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def archive(testbed: MongodTestbed) -> MgorsArchive:
    """Return the archive."""
    [found] = testbed.cluster.list(MgorsArchive)
    return found


async def now(testbed: MongodTestbed) -> Position:
    """Return the position after the last write."""
    async with testbed.connected() as client:
        hello = await client.admin.command("hello")
    at = hello["lastWrite"]["opTime"]["ts"]
    return Position(at.time, at.inc + 1)


async def archived(testbed: MongodTestbed, at: Position) -> None:
    """Wait until everything before a position is archived."""
    await testbed.until(
        lambda: bool(archive(testbed).status.until) and Position.parse(archive(testbed).status.until).place >= at.place,
        within=60,
    )


async def started(testbed: MongodTestbed) -> None:
    """Wait until archiving has begun."""
    await testbed.until(lambda: bool(testbed.cluster.list(MgorsArchive)) and bool(archive(testbed).status.until))


async def backed_up(testbed: MongodTestbed, name: str = "base") -> None:
    """Create a backup, and wait for its end."""
    spec = MgorsBackupSpec(cluster_name=NAME)
    await testbed.cluster.client.create(MgorsBackup(meta(name, namespace="default"), spec))
    await testbed.until(lambda: all(one.status.state == "ready" for one in testbed.cluster.list(MgorsBackup)))


async def restored(testbed: MongodTestbed, **fields: Any) -> MgorsRestore:
    """Restore a moment, and wait for the end."""
    spec = MgorsRestoreSpec(cluster_name=NAME, **fields)
    await testbed.cluster.client.create(MgorsRestore(meta("again", namespace="default"), spec))
    await testbed.until(lambda: testbed.cluster.list(MgorsRestore)[0].is_finished, within=90)
    return testbed.cluster.list(MgorsRestore)[0]


async def everything(testbed: MongodTestbed) -> dict[str, Any]:
    """Return everything that a user can see in the databases: documents, definitions and indexes."""
    found: dict[str, Any] = {}
    async with testbed.connected() as client:
        for db in sorted(set(await client.list_database_names()) - {"admin", "config", "local"}):
            async for info in await client[db].list_collections():
                name = info["name"]
                if name.startswith("system."):
                    continue
                documents = [one async for one in client[db][name].find()]
                key = (lambda _: 0) if info.get("options", {}).get("capped") else str
                indexes = {} if info["type"] == "view" else await client[db][name].index_information()
                found[f"{db}.{name}"] = (info["type"], info.get("options"), sorted(documents, key=key), indexes)
    return found


async def write_before(testbed: MongodTestbed) -> None:
    """Write what the backup has."""
    async with testbed.connected() as client:
        shop = client.shop
        await shop.orders.insert_many([{"_id": n, "n": n, "lines": [{"sku": n}, {"sku": 2 * n}]} for n in range(500)])
        await shop.create_collection("temperatures", timeseries={"timeField": "at", "metaField": "place"})
        await shop.temperatures.insert_many([{"at": LONG_AGO, "place": n % 3, "value": n} for n in range(30)])
        await shop.create_collection("few", viewOn="orders", pipeline=[{"$match": {"_id": {"$lt": 5}}}])
        await shop.create_collection("recent", capped=True, size=4096, max=3)
        await shop.recent.insert_many([{"_id": n} for n in range(3)])
        await shop.dropped.insert_one({"_id": 1})
        await client.crm.people.insert_one({"_id": "ann"})
        await client.gone.things.insert_one({"_id": 1})


async def write_meanwhile(testbed: MongodTestbed) -> None:
    """Write everything that the oplog can have, between the backup and the wanted moment."""
    async with testbed.connected() as client:
        shop = client.shop
        await shop.orders.update_many({"_id": {"$lt": 100}}, {"$set": {"lines.1.sku": -1}, "$unset": {"n": 1}})
        await shop.orders.replace_one({"_id": 200}, {"other": True})
        await shop.orders.delete_many({"_id": {"$gte": 450}})
        await shop.orders.insert_many([{"_id": n, "n": n} for n in range(1_000, 4_000)])
        await shop.orders.create_index([("n", 1)], name="by_n")
        await shop.temperatures.insert_many(
            [{"at": LONG_AGO + timedelta(minutes=n), "place": n % 3, "value": -n} for n in range(40)]
        )
        await shop.temperatures.create_index([("place", 1), ("at", 1)], name="by_place")
        await shop.create_collection("pressures", timeseries={"timeField": "at"}, expireAfterSeconds=10**9)
        await shop.pressures.insert_one({"at": LONG_AGO, "value": 1})
        await shop.command({"collMod": "few", "viewOn": "orders", "pipeline": [{"$match": {"_id": {"$lt": 7}}}]})
        await shop.create_collection("many", viewOn="orders", pipeline=[])
        await shop.recent.insert_many([{"_id": n} for n in range(3, 8)])
        await shop.dropped.drop()
        await shop.renamed_later.insert_one({"_id": 1})
        await shop.renamed_later.rename("renamed")
        await shop.empty.create_index([("a", 1)], name="unique", unique=True)
        await shop.create_collection("strict", validator={"a": {"$exists": True}}, validationAction="warn")
        await shop.command({"collMod": "strict", "validationLevel": "moderate"})
        await (await shop.orders.aggregate([{"$match": {"_id": {"$lt": 3}}}, {"$out": "copied"}])).to_list()
        await client.drop_database("gone")
        await client.fresh.things.insert_one({"_id": 1})
        async with client.start_session() as session, await session.start_transaction():
            await shop.orders.update_one({"_id": 1}, {"$inc": {"paid": 1}}, session=session)
            await client.crm.people.insert_one({"_id": "bob"}, session=session)
        async with client.start_session() as session, await session.start_transaction():
            # More than one entry of the oplog can have.
            for number in range(3):
                await shop.large.insert_one({"_id": number, "text": "x" * 9_000_000}, session=session)


async def write_after(testbed: MongodTestbed) -> None:
    """Make the mistakes that the restore takes back."""
    async with testbed.connected() as client:
        await client.shop.orders.insert_one({"_id": 9_999})
        await client.shop.orders.drop()
        await client.shop.temperatures.drop()
        await client.shop.drop_collection("few")
        await client.shop.wrong.insert_one({"_id": 1})
        await client.crm.people.delete_many({})


async def test_exactly_the_writes_before_a_moment_are_restored(start: StartTestbed, settings: Path) -> None:
    """A collection was dropped by mistake, an hour after the last backup: nothing before that may be missing."""
    async with start() as testbed:
        await testbed.create(1, backup=PLAN)
        await testbed.until_ready(1)
        await testbed.until(lambda: "admin.admin" in testbed.users())
        await started(testbed)
        await write_before(testbed)
        await backed_up(testbed)
        await write_meanwhile(testbed)
        wanted, limit = await everything(testbed), await now(testbed)
        await write_after(testbed)
        await archived(testbed, limit)
        found = await restored(testbed, oplog_limit=str(limit))
        assert found.status.error == ""
        assert (found.status.state, found.status.backup) == ("ready", "base")
        assert await everything(testbed) == wanted
        assert archive(testbed).status.gaps == []
        assert not _files(settings, "*.partial")
        await testbed.cluster.client.delete(archive(testbed))
        await testbed.until(lambda: not _files(settings, ".oplog/*"))


def _files(folder: Path, pattern: str) -> list[Path]:
    return [*folder.rglob(pattern)]


class AtTheReplay:
    """Crash an operator at one of its writes of a replay."""

    moment: Moment = "after"

    def matches(self, writes: Sequence[str]) -> bool:
        """Return whether it was the fourth: each operator applies some, and fails before it reports them."""
        return sum(1 for write in writes if write.startswith("mongodb: replay")) == 4


async def test_an_interrupted_replay_continues_where_it_was(start: StartTestbed) -> None:
    """No change is applied twice or left out, whenever the operator crashes: increments would show it."""
    async with start(is_operated=False) as testbed:
        async with testbed.cluster.running(operator):
            await testbed.create(1, backup=PLAN)
            await testbed.until_ready(1)
            await testbed.until(lambda: "admin.admin" in testbed.users())
            await started(testbed)
            await testbed.write(0, 10)
            await backed_up(testbed)
            async with testbed.connected() as client:
                await client.shop.a.insert_one({"_id": 1, "n": 0})
                await client.shop.a.rename("b")
                await client.shop.b.update_one({"_id": 1}, {"$inc": {"n": 1}})
                await client.shop.b.rename("c")
                await client.shop.c.delete_one({"_id": 1})
                await client.shop.c.insert_many([{"_id": n} for n in range(2_500)])
                await client.shop.c.drop()
                await client.shop.d.insert_one({"_id": 1})
            wanted, limit = await everything(testbed), await now(testbed)
            await testbed.write(100, 1)
            await archived(testbed, limit)
        spec = MgorsRestoreSpec(cluster_name=NAME, oplog_limit=str(limit))
        await testbed.cluster.client.create(MgorsRestore(meta("again", namespace="default"), spec))
        for _ in range(4):
            await run_until_crash(testbed.cluster, mgors_operator, AtTheReplay())
        async with testbed.cluster.running(operator):
            await testbed.until(lambda: testbed.cluster.list(MgorsRestore)[0].is_finished, within=60)
        assert testbed.cluster.list(MgorsRestore)[0].status.error == ""
        assert await everything(testbed) == wanted
