"""What goes wrong with real servers and sentinels, and what becomes of the data."""

from pathlib import Path

import pytest
from redis.exceptions import RedisError, ResponseError
from steersman.kinds.core_v1 import Pod

from redis_world.world import World, failover_spec
from redisfailover.actions import Failover, Fence
from redisfailover.api.redis_failover_v1 import BootstrapNode
from redisfailover.observation import RedisNode, SentinelNode
from redisfailover.redis_servers import RedisServers
from redisfailover.servers import Terms


async def test_servers_replicate_and_the_service_leads_to_the_master(tmp_path: Path) -> None:
    """The least that a user expects."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        await world.create(failover_spec())
        await world.write()
        await world.check()
        master = world.seen.status.master
        assert world.roles() == {pod.name: "master" if pod.name == master else "slave" for pod in world.pods("redis")}
        assert world.served_master == [master]


async def test_a_master_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """It restarts at once, and is no master any more: a sentinel is asked for another one, and the services follow."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        await world.create(failover_spec())
        await world.write()
        master = world.seen.status.master
        world.faults(master).kill()
        await world.wait_other_master(than=master)
        assert world.served_master == [world.seen.status.master]
        await world.check()
        await world.write(begin=1000)
        await world.check(begin=1000)
        await world.cluster.eventually(lambda: "FailoverObserved" in world.events)


async def test_a_master_that_hangs_is_replaced_and_follows_when_it_comes_back(tmp_path: Path) -> None:
    """The sentinels act by themselves. It believes that it is master still: what were written to it would be lost."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        await world.create(failover_spec())
        await world.write()
        master = world.seen.status.master
        world.faults(master).hang()
        await world.cluster.eventually(lambda: world.seen.status.master not in ("", master))
        assert world.served_master == [world.seen.status.master]
        world.faults(master).go_on()
        await world.wait_ready()
        assert world.seen.status.master != master
        await world.check()


async def test_when_all_servers_are_killed_the_newest_data_wins(tmp_path: Path) -> None:
    """A server that was behind, or comes back empty, must not become the master of those that have the data."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        await world.create(failover_spec())
        await world.write()
        master = world.seen.status.master
        assert master == "rfr-a-0"
        for pod in world.pods("redis"):
            async with world.redis(pod.name) as redis:
                await redis.save()
        # The first one, which wins among equals, loses its disk.
        world.faults(master).wipe("redis-data")
        for pod in world.pods("redis"):
            world.faults(pod.name).kill()
        await world.wait_other_master(than=master)
        await world.check()
        await world.cluster.eventually(lambda: "MasterPromoted" in world.events)


async def test_when_all_sentinels_go_others_are_told_of_the_master(tmp_path: Path) -> None:
    """New sentinels know nothing; a failure right after they came must be handled as any."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        await world.create(failover_spec())
        await world.write()
        before = {pod.name for pod in world.pods("sentinel")}
        for pod in world.pods("sentinel"):
            await world.cluster.client.delete(pod)
        await world.cluster.eventually(lambda: not before & {pod.name for pod in world.pods("sentinel")})
        master = world.seen.status.master
        address = next(pod.status.pod_ip for pod in world.pods("redis") if pod.name == master)

        async def all_were_told() -> bool:
            try:
                return await world.watched() == {address}
            except RedisError:
                return False

        await world.cluster.eventually(all_were_told)
        await world.wait_ready()
        world.faults(master).kill()
        await world.wait_other_master(than=master)
        await world.check()


async def test_a_setting_that_redis_refuses_is_told_and_reaches_no_start(tmp_path: Path) -> None:
    """Good settings change running servers; a bad one changes nothing, and would end a server that starts with it."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        created = await world.create(failover_spec())
        await world.write()
        good = {"spec": {"redis": {"customConfig": ["maxmemory 100mb", "save 60 5", "save 30 50"]}}}
        await world.cluster.client.patch(created, good)
        await world.wait_ready()
        for pod in world.pods("redis"):
            async with world.redis(pod.name) as redis:
                assert await redis.config_get("maxmemory", "save") == {"maxmemory": "104857600", "save": "60 5 30 50"}
        bad = {"spec": {"redis": {"customConfig": ["maxmemory 100mb", "maxmemory-policy sometimes"]}}}
        await world.cluster.client.patch(created, bad)
        await world.wait_condition("Ready", "False/ConfigRejected")
        await world.cluster.eventually(lambda: "ConfigRejected" in world.events)
        master = world.seen.status.master
        world.faults(master).kill()
        await world.cluster.eventually(lambda: world.seen.status.master not in ("", master))
        await world.cluster.client.patch(created, good)
        await world.wait_ready()
        await world.check()


async def test_a_rolling_update_replaces_the_master_last_and_loses_nothing(tmp_path: Path) -> None:
    """Whoever replaces the master first has as many failovers as servers; clients that write meanwhile keep it all."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        created = await world.create(failover_spec())
        await world.write()
        master = world.seen.status.master
        before = {pod.name: pod.uid for pod in world.pods("redis")}
        gone: list[str] = []
        async with world.cluster.informer(Pod) as pods, world.writing() as confirmed:
            await world.cluster.eventually(lambda: len(confirmed) > 10)
            await world.cluster.client.patch(created, {"spec": {"redis": {"image": "redis:7.2.1-alpine"}}})

            def replaced() -> bool:
                for name, uid in before.items():
                    if name not in gone and not any(pod.uid == uid and not pod.is_deleting for pod in pods.list()):
                        gone.append(name)
                return len(gone) == 3

            await world.cluster.eventually(replaced)
            await world.wait_ready()
            until_now = len(confirmed)
            await world.cluster.eventually(lambda: len(confirmed) > until_now)
        assert gone[-1] == master
        assert {pod.spec.containers[0].image for pod in world.pods("redis")} == {"redis:7.2.1-alpine"}
        await world.check()
        await world.cluster.eventually(lambda: {"RollingUpdate", "FailoverRequested"} <= world.events)
        await world.check_confirmed(confirmed)


async def test_a_second_master_with_newer_data_stops_everything_until_a_person_decides(tmp_path: Path) -> None:
    """Which of two histories counts is nothing that an operator can know; data that it throws away is gone."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        await world.create(failover_spec())
        await world.write()
        master = world.seen.status.master
        other = world.seen.status.replicas[0]
        for pod in world.pods("sentinel"):
            world.faults(pod.name).hang()
        async with world.redis(other) as redis:
            await redis.execute_command("REPLICAOF", "NO", "ONE")
            await redis.set("other", "history")
        await world.wait_condition("SplitBrain", "True/SeveralMasters")
        async with world.redis(other) as redis:
            assert await redis.get("other") == "history"
        assert world.roles()[master] == "master"
        async with world.redis(other) as redis:
            address = next(pod.status.pod_ip for pod in world.pods("redis") if pod.name == master)
            await redis.execute_command("REPLICAOF", address, 6379)
        for pod in world.pods("sentinel"):
            world.faults(pod.name).go_on()
        await world.wait_condition("SplitBrain", "False/OneMaster")
        await world.wait_ready()
        await world.check()


async def test_a_cluster_begins_with_data_from_outside_and_cuts_over(tmp_path: Path) -> None:
    """A migration: everything follows a Redis elsewhere, until the field is taken away."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        async with world.outside_redis() as (host, outside):
            for number in range(200):
                await outside.set(f"key-{number}", number)
            spec = failover_spec()
            spec.bootstrap_node = BootstrapNode(host=host)
            created = await world.begin(spec)
            await world.wait_condition("MasterAvailable", "False/FollowsBootstrapNode")
            await world.cluster.eventually(lambda: len(world.seen.status.replicas) == 3)
            await world.wait_synced()
            await world.check()
            assert set(world.roles().values()) == {""}
            await world.cluster.client.patch(created, {"spec": {"bootstrapNode": None}})
            await world.wait_ready()
            await outside.set("key-0", "written to the old one after the cut")
        await world.check()
        await world.write(begin=1000)
        await world.check(begin=1000)


async def test_an_image_that_is_not_there_stops_the_update_and_can_be_corrected(tmp_path: Path) -> None:
    """One replica is lost to the mistake, no more; the correction does not wait for the pod that it is to help."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        created = await world.create(failover_spec())
        await world.write()
        master = world.seen.status.master
        await world.cluster.client.patch(created, {"spec": {"redis": {"image": "no-redis:1"}}})
        await world.wait_condition("Ready", "False/ServersMissing")
        await world.cluster.eventually(lambda: "ImagePull" in world.told("Ready"))
        assert world.seen.status.master == master
        assert len(world.seen.status.replicas) == 1
        await world.cluster.client.patch(created, {"spec": {"redis": {"image": "redis:7.2-alpine"}}})
        await world.wait_ready()
        await world.check()


async def test_a_master_that_handed_over_confirms_nothing_more_though_nobody_demotes_it(tmp_path: Path) -> None:
    """The operator died right after it asked for the failover, and the pause is over: what is written now is lost."""
    async with World.start(tmp_path) as world:
        async with world.cluster.running(world.operator):
            await world.create(failover_spec())
            await world.write()
        master = world.seen.status.master
        nodes = {pod.name: RedisNode(pod=pod.name, address=world.address(pod.name)) for pod in world.pods("redis")}
        replicas = tuple(node for name, node in nodes.items() if name != master)
        first = world.pods("sentinel")[0].name
        fence = Fence(nodes[master], replicas, write_quorum=2)
        sentinel = SentinelNode(pod=first, address=world.address(first))
        await RedisServers().act(Failover(sentinel, replicas[0], "it is to go", fence), Terms())
        await world.cluster.eventually(lambda: _another_is_master(world, master))
        async with world.redis(master) as redis:
            await redis.execute_command("CLIENT UNPAUSE")
            with pytest.raises(ResponseError, match=r"NOREPLICAS|READONLY"):
                await redis.set("late", "lost")


async def _another_is_master(world: World, than: str) -> bool:
    for pod in world.pods("redis"):
        async with world.redis(pod.name) as redis:
            if pod.name != than and (await redis.info("replication"))["role"] == "master":
                return True
    return False
