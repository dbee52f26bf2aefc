"""Backups of real data, and that they can be used."""

import asyncio
import hashlib
from pathlib import Path

from redis_world.world import KEYS, World, failover_spec
from redisfailover.api.redis_failover_v1 import BackupSettings
from redisfailover.observation import Address
from redisfailover.operator import redis_operator
from redisfailover.redis_servers import RedisServers
from redisfailover.servers import Snapshot, Terms


async def test_a_backup_holds_the_data_and_old_ones_go(tmp_path: Path) -> None:
    """A backup that nobody has ever loaded is none."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        created = await world.create(failover_spec())
        await world.write()
        backup = BackupSettings(schedule="@every 2s", keep=2)
        change = {"spec": {"backup": {"schedule": backup.schedule, "keep": backup.keep}}}
        await world.cluster.client.patch(created, change)
        await world.wait_condition("BackupHealthy", "True/BackupSucceeded")
        made: set[str] = set()

        def three_were_made() -> bool:
            last = world.seen.status.last_backup
            made.add(last.file if last is not None else "")
            return len(made - {""}) >= 3

        await world.cluster.eventually(three_were_made)
        await world.cluster.client.patch(created, {"spec": {"backup": {"schedule": "0 0 1 1 *", "keep": 2}}})
        await world.wait_ready()
        last = world.seen.status.last_backup
        assert last is not None
        kept = sorted(path.name for path in world.backups.iterdir())
        assert len(kept) == 2
        assert last.file == kept[-1]
        content = (world.backups / last.file).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (last.sha256, last.size_bytes)
        assert last.source != world.seen.status.master
        load = ["--dir", str(world.backups), "--dbfilename", last.file]
        async with world.outside_redis(*load) as (_, redis):
            assert await redis.dbsize() == KEYS
            assert await redis.get("key-7") == "7"


class SlowServers(RedisServers):
    """Servers whose data takes forever to copy."""

    def __init__(self) -> None:
        """Begin with no copy under way."""
        super().__init__()
        self.is_copying = asyncio.Event()

    async def save(self, source: Address, target: Path, terms: Terms) -> Snapshot:
        """Begin to copy, and do not end."""
        self.is_copying.set()
        await asyncio.Event().wait()
        return await super().save(source, target, terms)


async def test_a_backup_delays_no_failover(tmp_path: Path) -> None:
    """It was made in the middle of a reconcile: a failover took 15.6 s instead of 2.1 s."""
    async with World.start(tmp_path) as world:
        servers = SlowServers()
        async with world.cluster.running(redis_operator(servers, backups=world.backups)):
            created = await world.create(failover_spec())
            await world.write()
            await world.cluster.client.patch(created, {"spec": {"backup": {"schedule": "@every 1s", "keep": 2}}})
            await servers.is_copying.wait()
            await world.wait_condition("BackupHealthy", "Unknown/BackupRunning")
            master = world.seen.status.master
            world.faults(master).kill()
            await world.wait_other_master(than=master)
            await world.check()
            assert world.condition("BackupHealthy") == "Unknown/BackupRunning"
