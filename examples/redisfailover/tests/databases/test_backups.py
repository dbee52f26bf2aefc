"""Backups of real data, and that they can be used."""

import hashlib
from pathlib import Path

from redis_world.world import KEYS, World, failover_spec
from redisfailover.api.redis_failover_v1 import BackupSettings


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
