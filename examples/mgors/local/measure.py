"""Measures what the README tells: ``python local/measure.py [DOCUMENTS]``, in the folder of the example.

Three real mongod processes on a process node; the API server, the controllers and the operator share one process.
"""

import asyncio
import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from mongod_testbed import NAME, MongodTestbed, running
from steersman import meta
from steersman.clock import RealClock
from steersman.testing import Cluster

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_restore_v1 import MgorsRestore, MgorsRestoreSpec

DOCUMENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
#: Measurements of the time series beside them.
MEASUREMENTS = DOCUMENTS // 10
_BATCH = 10_000
_clock = RealClock()


def _say(what: str, since: float) -> None:
    sys.stdout.write(f"{what}: {_clock.monotonic() - since:.1f} s\n")
    sys.stdout.flush()


async def _begin(testbed: MongodTestbed) -> None:
    since = _clock.monotonic()
    await testbed.create(3)
    await testbed.until(lambda: testbed.primary)
    await testbed.until(lambda: "admin.admin" in testbed.users())
    await testbed.write(-1, 1)
    _say("from the object to the first write that a majority has", since)
    await testbed.until_ready(within=120)
    _say("from the object to three members that vote", since)


async def _fill(testbed: MongodTestbed) -> None:
    async with testbed.connected() as client:
        for first in range(0, DOCUMENTS, _BATCH):
            await client.shop.orders.insert_many([_document(number) for number in range(first, first + _BATCH)])
        await client.shop.orders.create_index([("customer", 1)])
        await client.shop.create_collection("temperatures", timeseries={"timeField": "at", "metaField": "place"})
        for first in range(0, MEASUREMENTS, _BATCH):
            points = [_measurement(number) for number in range(first, min(first + _BATCH, MEASUREMENTS))]
            await client.shop.temperatures.insert_many(points)


def _document(number: int) -> dict[str, Any]:
    return {"_id": number, "customer": f"c{number % 97}", "lines": [{"sku": "x" * 20, "n": number}]}


def _measurement(number: int) -> dict[str, Any]:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
    return {"at": at, "place": number % 50, "value": number}


async def _resize(testbed: MongodTestbed) -> None:
    since = _clock.monotonic()
    for members in (5, 3):
        await testbed.patch({"members": members})
        await testbed.until_ready(members, within=300)
    _say("from three members to five and back", since)


async def _roll(testbed: MongodTestbed) -> None:
    since = _clock.monotonic()
    before = testbed.events.count("PodReplaced")
    await testbed.patch({"image": "mongo:6.0.5"})
    await testbed.until(lambda: testbed.events.count("PodReplaced") == before + 3 and testbed.is_ready(), within=300)
    _say("rolling update of three members", since)


async def _fail_over(testbed: MongodTestbed) -> None:
    since = _clock.monotonic()
    testbed.faults(testbed.primary).kill()
    await testbed.write(DOCUMENTS, 1)
    _say("from the death of the primary to the next write that a majority has", since)
    await testbed.until_ready(within=120)


async def _back_up(testbed: MongodTestbed) -> None:
    since = _clock.monotonic()
    backup = MgorsBackup(meta("b", namespace="default"), MgorsBackupSpec(cluster_name=NAME))
    await testbed.cluster.client.create(backup)
    await testbed.until(lambda: testbed.cluster.list(MgorsBackup)[0].is_finished, within=1200)
    [done] = testbed.cluster.list(MgorsBackup)
    _say(f"backup of {done.status.documents} documents, {done.status.size_bytes} bytes", since)


async def _restore(testbed: MongodTestbed) -> None:
    since = _clock.monotonic()
    spec = MgorsRestoreSpec(cluster_name=NAME, backup_name="b")
    await testbed.cluster.client.create(MgorsRestore(meta("r", namespace="default"), spec))
    await testbed.until(lambda: testbed.cluster.list(MgorsRestore)[0].is_finished, within=1200)
    [done] = testbed.cluster.list(MgorsRestore)
    _say(f"restore of {done.status.documents} documents, compared byte by byte ({done.status.state})", since)


async def _measure(folder: Path) -> None:
    os.environ["MGORS_BACKUPS"] = str(folder / "backups")
    async with Cluster.start() as cluster, running(cluster, folder / "node") as testbed:
        for part in (_begin, _resize, _roll, _fill, _fail_over, _back_up, _restore):
            await part(testbed)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder)))
