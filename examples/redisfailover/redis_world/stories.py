"""What happens to a RedisFailover in its life. Each story begins and ends with one that is well, and can be repeated.

Whoever tells them decides what else goes wrong meanwhile. Data is written before and compared afterwards; where servers
leave in an orderly way, clients go on writing, and nothing that was confirmed may be missing.
"""

import hashlib
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from steersman.kinds.apps_v1 import Deployment, StatefulSet
from steersman.kinds.core_v1 import ConfigMap, Service

from redis_world.world import QUICK, World, failover_spec
from redisfailover.api.redis_failover_v1 import BootstrapNode

Story: TypeAlias = Callable[[World], Awaitable[None]]

#: No two tellings ask for the same.
_numbers = itertools.count(1)


async def it_is_made(world: World) -> None:
    """From nothing to data on all servers."""
    await world.begin(failover_spec())
    await world.wait_well()
    await world.write()
    await world.check()


async def it_is_deleted(world: World) -> None:
    """Nothing is left of it."""
    await world.cluster.client.delete(world.seen)
    await world.cluster.eventually(lambda: not _left(world))


async def it_is_made_and_deleted(world: World) -> None:
    """Live once as a whole; another one is deleted while it is made."""
    await it_is_made(world)
    await it_is_deleted(world)
    await world.begin(failover_spec())
    await world.cluster.eventually(lambda: world.pods("redis"))
    await it_is_deleted(world)


async def it_takes_over(world: World) -> None:
    """Everything follows a Redis elsewhere, and then no longer."""
    async with world.outside_redis() as (host, outside):
        for number in range(200):
            await outside.set(f"key-{number}", number)
        spec = failover_spec()
        spec.bootstrap_node = BootstrapNode(host=host)
        await world.begin(spec)
        await world.wait_condition("MasterAvailable", "False/FollowsBootstrapNode")
        await world.cluster.eventually(lambda: len(world.seen.status.replicas) == 3)
        await world.wait_synced()
        await _ask(world, {"bootstrapNode": None})
    await world.check()
    await it_is_deleted(world)


async def the_master_dies(world: World) -> None:
    """Kill it: it restarts at once, with less data than others have."""
    master = world.seen.status.master
    world.faults(master).kill()
    await world.wait_other_master(than=master)
    await world.wait_well()
    await world.check()


async def all_servers_die(world: World) -> None:
    """Kill them: what they saved is there again."""
    await world.write()
    before = await world.runs()
    for pod in world.pods("redis"):
        async with world.redis(pod.name) as redis:
            await redis.save()
    for pod in world.pods("redis"):
        world.faults(pod.name).kill()

    async def all_are_back() -> bool:
        return len(before - await world.runs()) == len(before)

    await world.cluster.eventually(all_are_back)
    await world.wait_well()
    await world.check()


async def all_sentinels_go(world: World) -> None:
    """Others come, who know nothing."""
    before = {pod.name for pod in world.pods("sentinel")}
    for pod in world.pods("sentinel"):
        await world.cluster.client.delete(pod)
    await world.cluster.eventually(lambda: not before & {pod.name for pod in world.pods("sentinel")})
    await world.wait_well()
    await world.check()


async def settings_change(world: World) -> None:
    """Of running servers and sentinels, and of those that will start."""
    number = next(_numbers)
    wanted = f"maxmemory {100 + number}mb"
    sentinel = [*QUICK, f"parallel-syncs {1 + number % 2}"]
    settings = failover_spec(wanted, "hz 20").redis.custom_config
    await _ask(world, {"redis": {"customConfig": settings}, "sentinel": {"customConfig": sentinel}})
    for pod in world.pods("redis"):
        async with world.redis(pod.name) as redis:
            assert await redis.config_get("maxmemory") == {"maxmemory": str((100 + number) << 20)}
    await world.cluster.eventually(lambda: any(wanted in str(one.data) for one in world.cluster.list(ConfigMap)))
    await world.check()


async def it_is_updated(world: World) -> None:
    """Every server is replaced, one at a time, and the master hands over."""
    image = f"redis:7.2.{next(_numbers)}-alpine"
    async with world.writing() as confirmed:
        await _ask(world, {"redis": {"image": image}})
        await world.cluster.eventually(lambda: {one.spec.containers[0].image for one in world.pods("redis")} == {image})
        await world.wait_well()
    await world.check_confirmed(confirmed)
    await world.check()


async def servers_come_and_go(world: World) -> None:
    """One more; then only one, which may not have been the master; and as before."""
    for replicas in (4, 1, 3):
        async with world.writing() as confirmed:
            await _ask(world, {"redis": {"replicas": replicas}})
        await world.check_confirmed(confirmed)
    await world.check()


async def sentinels_come_and_go(world: World) -> None:
    """Two more and two less; those who stay forget those who went."""
    for replicas in (5, 3):
        await _ask(world, {"sentinel": {"replicas": replicas}})
    await world.check()


async def backups_are_made(world: World) -> None:
    """Two of them, after which old ones go; each is what its record says."""
    before = world.seen.status.last_backup
    files = {before.file if before is not None else ""}
    await _ask(world, {"backup": {"schedule": "@every 1s", "keep": 2}})

    def two_were_made() -> bool:
        last = world.seen.status.last_backup
        files.add(last.file if last is not None else "")
        return len(files) > 3

    await world.cluster.eventually(two_were_made)
    await _ask(world, {"backup": {"schedule": "0 0 1 1 *", "keep": 2}})
    last = world.seen.status.last_backup
    assert last is not None
    assert hashlib.sha256((world.backups / last.file).read_bytes()).hexdigest() == last.sha256
    assert max(path.name for path in world.backups.iterdir()) == last.file


#: What happens to one that is there.
EVENTS: tuple[Story, ...] = (
    the_master_dies,
    settings_change,
    it_is_updated,
    all_sentinels_go,
    sentinels_come_and_go,
    servers_come_and_go,
    all_servers_die,
    backups_are_made,
)
#: What begins and ends with nothing.
LIVES: tuple[Story, ...] = (it_is_made_and_deleted, it_takes_over)


async def _ask(world: World, spec: Mapping[str, Any]) -> None:
    """Change what is asked for, and wait until it is so."""
    await world.cluster.client.patch(world.seen, {"spec": spec})
    await world.wait_ready()
    await world.wait_well()


def _left(world: World) -> list[str]:
    kinds = (StatefulSet, Deployment, ConfigMap, Service)
    found = [one.name for kind in kinds for one in world.cluster.list(kind) if one.name.startswith(("rfr", "rfs"))]
    return [*found, *(pod.name for component in ("redis", "sentinel") for pod in world.pods(component))]
