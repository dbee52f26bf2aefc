"""Backups in a bucket of a real server: versitygw, an S3 gateway to a local folder.

``make test-databases`` builds it if there is Go. ``VERSITYGW_BIN`` selects another one.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from mongod_testbed import NAME, MongodTestbed, StartTestbed
from steersman import meta
from steersman.clock import RealClock
from steersman.kinds.core_v1 import Secret

from mgors.api.mgors_archive_v1 import MgorsArchive
from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_restore_v1 import MgorsRestore, MgorsRestoreSpec
from mgors.api.mgors_v1 import BackupPlan, BackupStorage, PointInTime, S3Target
from mgors.oplog import Position
from mgors.s3 import Bucket, S3Error

SECRET = "s3cr3t-key"  # noqa: S105 - of a server that lives as long as a test


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Bucket]:
    """Run the server with an empty bucket."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = os.environ.get("VERSITYGW_BIN") or shutil.which("versitygw", path=places)
    if program is None:
        pytest.skip("not run: no S3 server found; set VERSITYGW_BIN")
    port, root = _free_port(), folder / "s3"
    (root / "mongo").mkdir(parents=True)
    command = [program, "--access", "key", "--secret", SECRET, "--port", f"127.0.0.1:{port}", "posix", str(root)]
    found = Bucket(endpoint=f"http://127.0.0.1:{port}", name="mongo", access_key="key", secret_key=SECRET)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: ASYNC220, S603
        try:
            await _until_it_responds(found)
            yield found
        finally:
            process.kill()


async def _until_it_responds(bucket: Bucket) -> None:
    for _ in range(200):
        try:
            bucket.keys("")
        except S3Error:
            await RealClock().sleep(0.1)
        else:
            return
    raise AssertionError("the server does not respond")


async def test_objects_are_stored_in_parts_listed_and_deleted(tmp_path: Path) -> None:
    """A collection may be larger than the largest single upload."""
    async with serving(tmp_path) as bucket:
        _store_and_delete(bucket, tmp_path)


def _store_and_delete(bucket: Bucket, tmp_path: Path) -> None:
    small = replace(bucket, part=5 * 2**20)
    content = os.urandom(12 * 2**20)
    (tmp_path / "in").write_bytes(content)
    small.put("a b/ü+1.bson", tmp_path / "in")
    small.put("a b/2", tmp_path / "in")
    assert sorted(small.keys("a b/")) == ["a b/2", "a b/ü+1.bson"]
    small.get("a b/ü+1.bson", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == content
    small.delete(["a b/2", "a b/ü+1.bson", "missing"])
    assert small.keys("") == []
    with pytest.raises(S3Error, match="404 NoSuchKey") as caught:
        small.get("a b/2", tmp_path / "out")
    assert caught.value.is_final


async def test_a_wrong_secret_key_is_named(tmp_path: Path) -> None:
    """A retry would not help."""
    async with serving(tmp_path) as bucket:
        other = replace(bucket, secret_key="other")  # noqa: S106
        with pytest.raises(S3Error, match="403 SignatureDoesNotMatch") as caught:
            other.keys("")
        assert caught.value.is_final


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


async def _end_of(testbed: MongodTestbed, kind: type[MgorsBackup | MgorsRestore]) -> None:
    await testbed.until(lambda: all(one.is_finished for one in testbed.cluster.list(kind)), within=60)
    [found] = testbed.cluster.list(kind)
    assert found.status.error == ""


async def test_all_data_is_lost_and_restored_from_a_bucket(start: StartTestbed, settings: Path, tmp_path: Path) -> None:
    """The operator's volume is only used on the way, and the objects are deleted with the backup."""
    async with serving(tmp_path) as bucket, start() as testbed:
        client = testbed.cluster.client
        keys = {"AWS_ACCESS_KEY_ID": b"key", "AWS_SECRET_ACCESS_KEY": SECRET.encode()}
        await client.create(Secret(meta("s3", namespace="default"), data=keys))
        target = S3Target(endpoint=bucket.endpoint, bucket="mongo", prefix="all/mongo", secret_name="s3")  # noqa: S106
        await testbed.create(1, backup=BackupPlan(storage=BackupStorage(s3=target)))
        await testbed.until_ready(1)
        await testbed.write(0, 1000)
        backup = await client.create(MgorsBackup(meta("one", namespace="default"), MgorsBackupSpec(cluster_name=NAME)))
        await _end_of(testbed, MgorsBackup)
        assert f"all/mongo/default/{NAME}/one/manifest.json" in bucket.keys("all/")
        assert _files(settings) == []
        testbed.lose_disk("shop-0")
        await testbed.until(lambda: testbed.condition("Ready") == ("False", "DataLost"))
        spec = MgorsRestoreSpec(cluster_name=NAME, backup_name="one")
        await client.create(MgorsRestore(meta("again", namespace="default"), spec))
        await _end_of(testbed, MgorsRestore)
        await testbed.until_ready(1)
        assert await testbed.count() == 1000
        await testbed.until(lambda: _files(settings) == [])
        await client.delete(backup)
        await client.wait_deleted(backup, timeout=30)
        assert bucket.keys("") == []


async def test_a_moment_is_restored_from_a_bucket_after_all_data_was_lost(start: StartTestbed, tmp_path: Path) -> None:
    """Slices are stored beside the backup and outlive the set; an error names the last possible moment."""
    async with serving(tmp_path) as bucket, start() as testbed:
        client = testbed.cluster.client
        keys = {"AWS_ACCESS_KEY_ID": b"key", "AWS_SECRET_ACCESS_KEY": SECRET.encode()}
        await client.create(Secret(meta("s3", namespace="default"), data=keys))
        target = S3Target(endpoint=bucket.endpoint, bucket="mongo", secret_name="s3")  # noqa: S106
        plan = BackupPlan(storage=BackupStorage(s3=target), point_in_time=PointInTime(every_seconds=1))
        await testbed.create(1, backup=plan)
        await testbed.until_ready(1)
        await testbed.until(lambda: any(one.status.until for one in testbed.cluster.list(MgorsArchive)))
        await testbed.write(0, 100)
        await client.create(MgorsBackup(meta("one", namespace="default"), MgorsBackupSpec(cluster_name=NAME)))
        await _end_of(testbed, MgorsBackup)
        await testbed.write(100, 50)
        done = testbed.cluster.list(MgorsArchive)[0].status.entries
        await testbed.until(lambda: testbed.cluster.list(MgorsArchive)[0].status.entries >= done + 50, within=60)
        last = Position.parse(testbed.cluster.list(MgorsArchive)[0].status.until)
        testbed.lose_disk("shop-0")
        await testbed.until(lambda: testbed.condition("Ready") == ("False", "DataLost"))
        late = MgorsRestoreSpec(cluster_name=NAME, to_time=testbed.cluster.clock.now() + timedelta(days=1))
        restore = await client.create(MgorsRestore(meta("late", namespace="default"), late))
        await testbed.until(lambda: testbed.cluster.list(MgorsRestore)[0].is_finished)
        latest = testbed.cluster.list(MgorsRestore)[0].status.error.partition('oplogLimit "')[2].partition('"')[0]
        assert Position.parse(latest) > last
        await client.delete(restore)
        await testbed.until(lambda: testbed.cluster.list(MgorsRestore) == [])
        spec = MgorsRestoreSpec(cluster_name=NAME, oplog_limit=latest)
        await client.create(MgorsRestore(meta("again", namespace="default"), spec))
        await _end_of(testbed, MgorsRestore)
        await testbed.until_ready(1)
        assert await testbed.count() == 150
        await testbed.until(lambda: bool(testbed.cluster.list(MgorsArchive)[0].status.gaps), within=60)
        assert any(".oplog/" in key for key in bucket.keys(""))
