"""Backups of real data can be loaded."""

import asyncio
import hashlib
from pathlib import Path

from redis_testbed.testbed import KEYS, RedisTestbed, failover_spec
from redisfailover.api.redis_failover_v1 import BackupSettings
from redisfailover.observation import Address
from redisfailover.operator import redis_operator
from redisfailover.redis_servers import RedisServers
from redisfailover.servers import ServerAccess, Snapshot


async def test_a_backup_contains_the_data_and_old_ones_are_deleted(tmp_path: Path) -> None:
    """Only a backup that was loaded once is known to be good."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        created = await testbed.create(failover_spec())
        await testbed.write()
        backup = BackupSettings(schedule="@every 2s", keep=2)
        change = {"spec": {"backup": {"schedule": backup.schedule, "keep": backup.keep}}}
        await testbed.cluster.client.patch(created, change)
        await testbed.wait_condition("BackupHealthy", "True/BackupSucceeded")
        made: set[str] = set()

        def three_were_made() -> bool:
            last = testbed.failover.status.last_backup
            made.add(last.file if last is not None else "")
            return len(made - {""}) >= 3

        await testbed.cluster.eventually(three_were_made)
        await testbed.cluster.client.patch(created, {"spec": {"backup": {"schedule": "0 0 1 1 *", "keep": 2}}})
        await testbed.wait_ready()
        last = testbed.failover.status.last_backup
        assert last is not None
        kept = sorted(path.name for path in testbed.backups.iterdir())
        assert len(kept) == 2
        assert last.file == kept[-1]
        content = (testbed.backups / last.file).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (last.sha256, last.size_bytes)
        assert last.source != testbed.failover.status.master
        load = ["--dir", str(testbed.backups), "--dbfilename", last.file]
        async with testbed.external_redis(*load) as (_, redis):
            assert await redis.dbsize() == KEYS
            assert await redis.get("key-7") == "7"


class SlowServers(RedisServers):
    """Servers whose data takes forever to copy."""

    def __init__(self) -> None:
        """Create it with no copy in progress."""
        super().__init__()
        self.is_copying = asyncio.Event()

    async def save(self, source: Address, target: Path, access: ServerAccess) -> Snapshot:
        """Start to copy, and never finish."""
        self.is_copying.set()
        await asyncio.Event().wait()
        return await super().save(source, target, access)


async def test_a_backup_does_not_delay_a_failover(tmp_path: Path) -> None:
    """Backups were made inside a reconcile: a failover took 15.6 s instead of 2.1 s."""
    async with RedisTestbed.start(tmp_path) as testbed:
        servers = SlowServers()
        async with testbed.cluster.running(redis_operator(servers, backups=testbed.backups)):
            created = await testbed.create(failover_spec())
            await testbed.write()
            await testbed.cluster.client.patch(created, {"spec": {"backup": {"schedule": "@every 1s", "keep": 2}}})
            await servers.is_copying.wait()
            await testbed.wait_condition("BackupHealthy", "Unknown/BackupRunning")
            master = testbed.failover.status.master
            testbed.faults(master).kill()
            await testbed.wait_other_master(than=master)
            await testbed.check()
            assert testbed.condition("BackupHealthy") == "Unknown/BackupRunning"
