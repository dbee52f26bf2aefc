"""Scenarios of the life of a RedisFailover. Each starts and ends with a consistent one, and can be repeated.

The caller decides what else fails meanwhile. Data is written before and compared afterwards; where servers are removed
in an orderly way, clients keep writing, and no acknowledged write may be lost.
"""

import hashlib
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from steersman.kinds.apps_v1 import Deployment, StatefulSet
from steersman.kinds.core_v1 import ConfigMap, Service

from redis_testbed.testbed import QUICK, RedisTestbed, failover_spec
from redisfailover.api.redis_failover_v1 import BootstrapNode

Scenario: TypeAlias = Callable[[RedisTestbed], Awaitable[None]]

#: Makes the settings of each run different.
_numbers = itertools.count(1)


async def create_failover(testbed: RedisTestbed) -> None:
    """Create a RedisFailover and write data to it."""
    await testbed.submit(failover_spec())
    await testbed.wait_consistent()
    await testbed.write()
    await testbed.check()


async def delete_failover(testbed: RedisTestbed) -> None:
    """Delete the RedisFailover and wait until nothing is left of it."""
    await testbed.cluster.client.delete(testbed.failover)
    await testbed.cluster.eventually(lambda: not _left(testbed))


async def create_and_delete(testbed: RedisTestbed) -> None:
    """Create and delete one, then delete another one while it is being created."""
    await create_failover(testbed)
    await delete_failover(testbed)
    await testbed.submit(failover_spec())
    await testbed.cluster.eventually(lambda: testbed.pods("redis"))
    await delete_failover(testbed)


async def take_over_external_redis(testbed: RedisTestbed) -> None:
    """Follow a Redis outside of the cluster, then become independent of it."""
    async with testbed.external_redis() as (host, outside):
        for number in range(200):
            await outside.set(f"key-{number}", number)
        spec = failover_spec()
        spec.bootstrap_node = BootstrapNode(host=host)
        await testbed.submit(spec)
        await testbed.wait_condition("MasterAvailable", "False/FollowsBootstrapNode")
        await testbed.cluster.eventually(lambda: len(testbed.failover.status.replicas) == 3)
        await testbed.wait_synced()
        await _change_spec(testbed, {"bootstrapNode": None})
    await testbed.check()
    await delete_failover(testbed)


async def kill_master(testbed: RedisTestbed) -> None:
    """Kill the master: it restarts at once, with less data than its replicas."""
    master = testbed.failover.status.master
    testbed.faults(master).kill()
    await testbed.wait_other_master(than=master)
    await testbed.wait_consistent()
    await testbed.check()


async def kill_all_servers(testbed: RedisTestbed) -> None:
    """Kill all servers: they restart with the data that they saved."""
    await testbed.write()
    before = await testbed.run_ids()
    for pod in testbed.pods("redis"):
        async with testbed.redis(pod.name) as redis:
            await redis.save()
    for pod in testbed.pods("redis"):
        testbed.faults(pod.name).kill()

    async def all_are_back() -> bool:
        return len(before - await testbed.run_ids()) == len(before)

    await testbed.cluster.eventually(all_are_back)
    await testbed.wait_consistent()
    await testbed.check()


async def replace_all_sentinels(testbed: RedisTestbed) -> None:
    """Delete all sentinels: the new ones know no master."""
    before = {pod.name for pod in testbed.pods("sentinel")}
    for pod in testbed.pods("sentinel"):
        await testbed.cluster.client.delete(pod)
    await testbed.cluster.eventually(lambda: not before & {pod.name for pod in testbed.pods("sentinel")})
    await testbed.wait_consistent()
    await testbed.check()


async def change_settings(testbed: RedisTestbed) -> None:
    """Change settings of running servers and sentinels, and of those that start later."""
    number = next(_numbers)
    wanted = f"maxmemory {100 + number}mb"
    sentinel = [*QUICK, f"parallel-syncs {1 + number % 2}"]
    settings = failover_spec(wanted, "hz 20").redis.custom_config
    await _change_spec(testbed, {"redis": {"customConfig": settings}, "sentinel": {"customConfig": sentinel}})
    for pod in testbed.pods("redis"):
        async with testbed.redis(pod.name) as redis:
            assert await redis.config_get("maxmemory") == {"maxmemory": str((100 + number) << 20)}
    await testbed.cluster.eventually(lambda: any(wanted in str(one.data) for one in testbed.cluster.list(ConfigMap)))
    await testbed.check()


async def update_image(testbed: RedisTestbed) -> None:
    """Change the image: every server is replaced, one at a time, and the master hands over."""
    image = f"redis:7.2.{next(_numbers)}-alpine"
    async with testbed.writing() as acknowledged:
        await _change_spec(testbed, {"redis": {"image": image}})
        await testbed.cluster.eventually(
            lambda: {one.spec.containers[0].image for one in testbed.pods("redis")} == {image}
        )
        await testbed.wait_consistent()
    await testbed.check_acknowledged(acknowledged)
    await testbed.check()


async def scale_servers(testbed: RedisTestbed) -> None:
    """Scale to four servers, to one, which may not have been the master, and back to three."""
    for replicas in (4, 1, 3):
        async with testbed.writing() as acknowledged:
            await _change_spec(testbed, {"redis": {"replicas": replicas}})
        await testbed.check_acknowledged(acknowledged)
    await testbed.check()


async def scale_sentinels(testbed: RedisTestbed) -> None:
    """Scale to five sentinels and back to three, which must forget the removed ones."""
    for replicas in (5, 3):
        await _change_spec(testbed, {"sentinel": {"replicas": replicas}})
    await testbed.check()


async def make_backups(testbed: RedisTestbed) -> None:
    """Make two backups, so that older ones are deleted, and compare the last one with its checksum."""
    before = testbed.failover.status.last_backup
    files = {before.file if before is not None else ""}
    await _change_spec(testbed, {"backup": {"schedule": "@every 1s", "keep": 2}})

    def two_were_made() -> bool:
        last = testbed.failover.status.last_backup
        files.add(last.file if last is not None else "")
        return len(files) > 3

    await testbed.cluster.eventually(two_were_made)
    await _change_spec(testbed, {"backup": {"schedule": "0 0 1 1 *", "keep": 2}})
    last = testbed.failover.status.last_backup
    assert last is not None
    assert hashlib.sha256((testbed.backups / last.file).read_bytes()).hexdigest() == last.sha256
    assert max(path.name for path in testbed.backups.iterdir()) == last.file


#: Scenarios for an existing RedisFailover.
EVENTS: tuple[Scenario, ...] = (
    kill_master,
    change_settings,
    update_image,
    replace_all_sentinels,
    scale_sentinels,
    scale_servers,
    kill_all_servers,
    make_backups,
)
#: Scenarios that start and end without one.
WHOLE_LIVES: tuple[Scenario, ...] = (create_and_delete, take_over_external_redis)


async def _change_spec(testbed: RedisTestbed, spec: Mapping[str, Any]) -> None:
    """Change the spec, and wait until everything follows it."""
    await testbed.cluster.client.patch(testbed.failover, {"spec": spec})
    await testbed.wait_ready()
    await testbed.wait_consistent()


def _left(testbed: RedisTestbed) -> list[str]:
    kinds = (StatefulSet, Deployment, ConfigMap, Service)
    found = [one.name for kind in kinds for one in testbed.cluster.list(kind) if one.name.startswith(("rfr", "rfs"))]
    return [*found, *(pod.name for component in ("redis", "sentinel") for pod in testbed.pods(component))]
