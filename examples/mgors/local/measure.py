"""Measure what the README shows: ``python local/measure.py [DOCUMENTS [PART]]``, in this example.

Three real mongod processes on a process node; the API server, the controllers and the operator share one process. A
client writes all the time; the table has the duration of each change, the longest time without an acknowledged write,
and how many acknowledged writes were lost.
"""

import asyncio
import os
import ssl
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from mongod_testbed import FAST, NAME, MongodTestbed, Writes, running
from steersman import Invalid, meta
from steersman.clock import RealClock
from steersman.kinds.core_v1 import Pod, Secret
from steersman.testing import Cluster

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_restore_v1 import MgorsRestore, MgorsRestoreSpec
from mgors.api.mgors_v1 import Role, SecretRef, Unsafe, User
from mgors.certificates import served_certificate
from mgors.keyfile import Keyfile
from mgors.pod_template import KEYFILE
from mgors.tls import mode_of

DOCUMENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
#: Only parts with this text in their names are run.
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
#: Measurements of the time series beside them.
MEASUREMENTS = DOCUMENTS // 10
_BATCH = 10_000
_PATIENCE = 1200.0
_clock = RealClock()
Part = Callable[[MongodTestbed], Awaitable[None]]


def _print(*cells: str) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


async def _create(testbed: MongodTestbed) -> None:
    begin = _clock.monotonic()
    await testbed.cluster.client.create(Secret(meta("app", namespace="default"), data={"password": b"first"}))
    roles = [Role(name="readWrite", db="shop")]
    users = [User(name="app", db="shop", password_secret_ref=SecretRef(name="app"), roles=roles)]
    await testbed.create(3, users=users, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
    await testbed.until(lambda: "shop.app" in testbed.users(), _PATIENCE)
    await testbed.write(0, 1)
    _print("from creation to the first write that a majority acknowledges", f"{_clock.monotonic() - begin:.1f} s", "")
    await testbed.until_ready(within=_PATIENCE)
    _print("from creation to three voting members", f"{_clock.monotonic() - begin:.1f} s", "")


async def _kill(testbed: MongodTestbed) -> None:
    old = testbed.primary
    testbed.faults(old).kill()
    await testbed.until(lambda: testbed.primary not in ("", old) and testbed.is_ready(), _PATIENCE)


async def _lose_disk(testbed: MongodTestbed) -> None:
    [pod, *_] = testbed.secondaries
    testbed.lose_disk(pod)
    await testbed.until(lambda: testbed.condition("Ready")[0] == "False", _PATIENCE)
    await testbed.until_ready(within=_PATIENCE)


async def _resize(testbed: MongodTestbed) -> None:
    for members in (5, 3):
        await testbed.patch({"members": members})
        await testbed.until_ready(members, within=_PATIENCE)


async def _roll(testbed: MongodTestbed) -> None:
    before = {pod.uid for pod in testbed.cluster.list(Pod)}
    await testbed.patch({"image": "mongo:6.0.5"})
    await testbed.until(
        lambda: before.isdisjoint(pod.uid for pod in testbed.cluster.list(Pod)) and testbed.is_ready(), _PATIENCE
    )


async def _grow_disks(testbed: MongodTestbed) -> None:
    """Ask for larger disks than the storage class of the local node allows."""
    await testbed.patch({"storage": {"size": "20Gi"}})
    await testbed.until(lambda: testbed.condition("StorageAsAskedFor") == ("False", "ResizeRefused"), _PATIENCE)
    await testbed.patch({"storage": None})
    await testbed.until(lambda: testbed.condition("StorageAsAskedFor")[0] == "True" and testbed.is_ready(), _PATIENCE)


async def _change_port(testbed: MongodTestbed) -> None:
    with suppress(Invalid):
        await testbed.patch({"port": 4711})
        raise AssertionError("the port was changed")


async def _change_password(testbed: MongodTestbed) -> None:
    [secret] = [one for one in testbed.cluster.list(Secret) if one.name == "app"]
    await testbed.cluster.client.patch(secret, {"stringData": {"password": "second"}})
    await testbed.until(lambda: ":second@" in testbed.secret(f"{NAME}-connection")["shop.app"], _PATIENCE)
    async with testbed.connected("shop.app") as client:
        await client.shop.orders.find_one()


async def _rotate_keyfile(testbed: MongodTestbed) -> None:
    old = testbed.secret(f"{NAME}-keyfile")["keyfile"]
    await testbed.patch({"auth": {"keyfileRevision": "2"}})

    def is_rotated() -> bool:
        text = testbed.secret(f"{NAME}-keyfile")["keyfile"]
        marks = {pod.annotations.get(KEYFILE) for pod in testbed.cluster.list(Pod)}
        return old not in text and marks == {Keyfile.parse(text, "2").mark} and testbed.is_ready()

    await testbed.until(is_rotated, _PATIENCE)


async def _add_tls(testbed: MongodTestbed) -> None:
    await testbed.patch({"tls": {"mode": "preferTLS"}})

    def modes() -> set[str]:
        return {mode_of(pod.spec) for pod in testbed.cluster.list(Pod)}

    await testbed.until(lambda: modes() == {"preferTLS"} and testbed.is_ready(), _PATIENCE)


async def _rotate_authority(testbed: MongodTestbed) -> None:
    """Replace the authority. Events are not counted: an object with many of them gets no more for a while."""
    await testbed.patch({"tls": {"revision": "2"}})

    async def is_replaced() -> bool:
        content = testbed.secret(f"{NAME}-certificates")
        wanted = ssl.PEM_cert_to_DER_cert(content["tls.crt"])
        served = {await served_certificate(testbed.host(pod)) for pod in testbed.pods()}
        return bool(content["retired.crt"]) and served == {wanted}

    await testbed.until(is_replaced, _PATIENCE)


async def _fill(testbed: MongodTestbed) -> None:
    async with testbed.connected() as client:
        for first in range(0, DOCUMENTS, _BATCH):
            await client.bulk.orders.insert_many([_document(number) for number in range(first, first + _BATCH)])
        await client.bulk.orders.create_index([("customer", 1)])
        await client.bulk.create_collection("temperatures", timeseries={"timeField": "at", "metaField": "place"})
        for first in range(0, MEASUREMENTS, _BATCH):
            points = [_measurement(number) for number in range(first, min(first + _BATCH, MEASUREMENTS))]
            await client.bulk.temperatures.insert_many(points)


def _document(number: int) -> dict[str, Any]:
    return {"_id": number, "customer": f"c{number % 97}", "lines": [{"sku": "x" * 20, "n": number}]}


def _measurement(number: int) -> dict[str, Any]:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
    return {"at": at, "place": number % 50, "value": number}


async def _back_up(testbed: MongodTestbed) -> None:
    backup = MgorsBackup(meta("b", namespace="default"), MgorsBackupSpec(cluster_name=NAME))
    await testbed.cluster.client.create(backup)
    await testbed.until(lambda: testbed.cluster.list(MgorsBackup)[0].is_finished, _PATIENCE)
    assert testbed.cluster.list(MgorsBackup)[0].status.error == ""


async def _restore(testbed: MongodTestbed) -> None:
    spec = MgorsRestoreSpec(cluster_name=NAME, backup_name="b")
    await testbed.cluster.client.create(MgorsRestore(meta("r", namespace="default"), spec))
    await testbed.until(lambda: testbed.cluster.list(MgorsRestore)[0].is_finished, _PATIENCE)
    assert testbed.cluster.list(MgorsRestore)[0].status.error == ""


async def _lose_majority(testbed: MongodTestbed) -> None:
    """Lose the primary and a secondary, continue without them by consent, and let them return with other writes."""
    survivor, other = testbed.secondaries
    leader = testbed.primary
    testbed.take_down(survivor)
    await testbed.write(-1000, 100)
    for pod in (leader, other):
        async with testbed.connector().member(testbed.host(pod)) as member:
            await member.mongo.admin.command("fsync")
        testbed.take_down(pod)
    testbed.bring_up(survivor)
    await testbed.until(lambda: testbed.condition("QuorumAvailable") == ("False", "QuorumLost"), _PATIENCE)
    await testbed.consent(leader, other)
    await testbed.until(lambda: testbed.primary == survivor, _PATIENCE)
    for pod in (leader, other):
        testbed.bring_up(pod)
    await testbed.until(lambda: testbed.condition("Ready") == ("False", "DivergedData"), _PATIENCE)
    for pod in (leader, other):
        testbed.lose_disk(pod)
    await testbed.until_ready(within=_PATIENCE)


_WITH_WRITER: dict[str, Part] = {
    "the primary is killed": _kill,
    "a disk is lost, until the member has all data again": _lose_disk,
    "three members to five and back": _resize,
    "rolling update of three members": _roll,
    "`storage.size` grows, which the storage class rejects: reported": _grow_disks,
    "`port` is changed: rejected": _change_port,
    "the password of a user is changed": _change_password,
    "the keyfile is rotated": _rotate_keyfile,
    "TLS is added to the running set (`preferTLS`)": _add_tls,
    "the certificate authority is replaced": _rotate_authority,
}
_ALONE: dict[str, Part] = {
    f"backup of {DOCUMENTS:,} documents and a time series of {MEASUREMENTS:,} measurements": _back_up,
    "restore of them, with an index, verified before and compared after": _restore,
    "the majority is lost, given up by consent, and returns with other writes (`DivergedData`)": _lose_majority,
}


def _chosen(parts: dict[str, Part]) -> list[tuple[str, Part]]:
    return [(what, part) for what, part in parts.items() if ONLY in what]


async def _run(what: str, part: Part, testbed: MongodTestbed, writes: Writes | None = None) -> None:
    begin = _clock.monotonic()
    await part(testbed)
    end = _clock.monotonic()
    pause = f"{writes.longest_pause(begin, end):.1f} s" if writes is not None else ""
    _print(what, f"{end - begin:.1f} s", pause)


async def _measure(folder: Path) -> None:
    os.environ.update({**FAST, "MGORS_CA_OVERLAP": "0.01", "MGORS_BACKUPS": str(folder / "backups")})
    async with Cluster.start() as cluster, running(cluster, folder / "node") as testbed:
        _print("", "duration", "longest pause of writes")
        _print("---", "---", "---")
        await _create(testbed)
        async with testbed.writing() as writes:
            for what, part in _chosen(_WITH_WRITER):
                await _run(what, part, testbed, writes)
        try:
            await testbed.check(1, writes)
        except AssertionError as error:
            sys.stdout.write(f"LOST: {error}\n")
        else:
            sys.stdout.write(f"\n{len(writes.acknowledged):,} writes acknowledged by a majority, 0 lost\n\n")
        await _fill(testbed)
        for what, part in _chosen(_ALONE):
            await _run(what, part, testbed)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder)))
