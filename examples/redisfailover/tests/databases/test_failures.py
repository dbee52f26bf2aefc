"""Failures of real servers and sentinels: they recover, and no data is lost."""

from pathlib import Path

import pytest
from redis.exceptions import RedisError, ResponseError
from steersman.kinds.core_v1 import Pod

from redis_testbed.testbed import RedisTestbed, failover_spec
from redisfailover.actions import Failover, Fence
from redisfailover.api.redis_failover_v1 import BootstrapNode
from redisfailover.observation import RedisNode, SentinelNode
from redisfailover.redis_servers import RedisServers
from redisfailover.servers import ServerAccess


async def test_servers_replicate_and_the_service_leads_to_the_master(tmp_path: Path) -> None:
    """The basic promise, without any failure."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        await testbed.create(failover_spec())
        await testbed.write()
        await testbed.check()
        master = testbed.failover.status.master
        assert testbed.roles() == {
            pod.name: "master" if pod.name == master else "slave" for pod in testbed.pods("redis")
        }
        assert testbed.served_master == [master]


async def test_a_master_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """It restarts at once with older data: a sentinel must promote a replica, and the Services must follow."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        await testbed.create(failover_spec())
        await testbed.write()
        master = testbed.failover.status.master
        testbed.faults(master).kill()
        await testbed.wait_other_master(than=master)
        assert testbed.served_master == [testbed.failover.status.master]
        await testbed.check()
        await testbed.write(begin=1000)
        await testbed.check(begin=1000)
        await testbed.cluster.eventually(lambda: "FailoverObserved" in testbed.events)


async def test_a_master_that_hangs_is_replaced_and_follows_when_it_comes_back(tmp_path: Path) -> None:
    """The sentinels act alone. The old master still considers itself master: writes to it would be lost."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        await testbed.create(failover_spec())
        await testbed.write()
        master = testbed.failover.status.master
        testbed.faults(master).hang()
        await testbed.cluster.eventually(lambda: testbed.failover.status.master not in ("", master))
        assert testbed.served_master == [testbed.failover.status.master]
        testbed.faults(master).go_on()
        await testbed.wait_ready()
        assert testbed.failover.status.master != master
        await testbed.check()


async def test_when_all_servers_are_killed_the_newest_data_wins(tmp_path: Path) -> None:
    """A server with older or no data must not become the master of those that have the data."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        await testbed.create(failover_spec())
        await testbed.write()
        master = testbed.failover.status.master
        assert master == "rfr-a-0"
        for pod in testbed.pods("redis"):
            async with testbed.redis(pod.name) as redis:
                await redis.save()
        # The first one, which wins among equals, loses its disk.
        testbed.faults(master).wipe("redis-data")
        for pod in testbed.pods("redis"):
            testbed.faults(pod.name).kill()
        await testbed.wait_other_master(than=master)
        await testbed.check()
        await testbed.cluster.eventually(lambda: "MasterPromoted" in testbed.events)


async def test_new_sentinels_monitor_the_master_after_all_were_deleted(tmp_path: Path) -> None:
    """New sentinels know no master; a failure right after their start must be handled like any other."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        await testbed.create(failover_spec())
        await testbed.write()
        before = {pod.name for pod in testbed.pods("sentinel")}
        for pod in testbed.pods("sentinel"):
            await testbed.cluster.client.delete(pod)
        await testbed.cluster.eventually(lambda: not before & {pod.name for pod in testbed.pods("sentinel")})
        master = testbed.failover.status.master
        address = next(pod.status.pod_ip for pod in testbed.pods("redis") if pod.name == master)

        async def all_monitor_it() -> bool:
            try:
                return await testbed.watched() == {address}
            except RedisError:
                return False

        await testbed.cluster.eventually(all_monitor_it)
        await testbed.wait_ready()
        testbed.faults(master).kill()
        await testbed.wait_other_master(than=master)
        await testbed.check()


async def test_a_setting_that_redis_rejects_is_reported_and_not_used_at_a_start(tmp_path: Path) -> None:
    """Valid settings change running servers; an invalid one changes nothing, because no server starts with it."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        created = await testbed.create(failover_spec())
        await testbed.write()
        good = {"spec": {"redis": {"customConfig": ["maxmemory 100mb", "save 60 5", "save 30 50"]}}}
        await testbed.cluster.client.patch(created, good)
        await testbed.wait_ready()
        for pod in testbed.pods("redis"):
            async with testbed.redis(pod.name) as redis:
                assert await redis.config_get("maxmemory", "save") == {"maxmemory": "104857600", "save": "60 5 30 50"}
        bad = {"spec": {"redis": {"customConfig": ["maxmemory 100mb", "maxmemory-policy sometimes"]}}}
        await testbed.cluster.client.patch(created, bad)
        await testbed.wait_condition("Ready", "False/ConfigRejected")
        await testbed.cluster.eventually(lambda: "ConfigRejected" in testbed.events)
        master = testbed.failover.status.master
        testbed.faults(master).kill()
        await testbed.cluster.eventually(lambda: testbed.failover.status.master not in ("", master))
        await testbed.cluster.client.patch(created, good)
        await testbed.wait_ready()
        await testbed.check()


async def test_a_rolling_update_replaces_the_master_last_and_loses_nothing(tmp_path: Path) -> None:
    """One failover is enough if the master comes last; no acknowledged write of a client is lost meanwhile."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        created = await testbed.create(failover_spec())
        await testbed.write()
        master = testbed.failover.status.master
        before = {pod.name: pod.uid for pod in testbed.pods("redis")}
        gone: list[str] = []
        async with testbed.cluster.informer(Pod) as pods, testbed.writing() as acknowledged:
            await testbed.cluster.eventually(lambda: len(acknowledged) > 10)
            await testbed.cluster.client.patch(created, {"spec": {"redis": {"image": "redis:7.2.1-alpine"}}})

            def replaced() -> bool:
                for name, uid in before.items():
                    if name not in gone and not any(pod.uid == uid and not pod.is_deleting for pod in pods.list()):
                        gone.append(name)
                return len(gone) == 3

            await testbed.cluster.eventually(replaced)
            await testbed.wait_ready()
            until_now = len(acknowledged)
            await testbed.cluster.eventually(lambda: len(acknowledged) > until_now)
        assert gone[-1] == master
        assert {pod.spec.containers[0].image for pod in testbed.pods("redis")} == {"redis:7.2.1-alpine"}
        await testbed.check()
        await testbed.cluster.eventually(lambda: {"RollingUpdate", "FailoverRequested"} <= testbed.events)
        await testbed.check_acknowledged(acknowledged)


async def test_a_second_master_with_newer_data_stops_everything_until_a_person_decides(tmp_path: Path) -> None:
    """An operator cannot know which of two histories is the right one, and must not discard data."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        await testbed.create(failover_spec())
        await testbed.write()
        master = testbed.failover.status.master
        other = testbed.failover.status.replicas[0]
        for pod in testbed.pods("sentinel"):
            testbed.faults(pod.name).hang()
        async with testbed.redis(other) as redis:
            await redis.execute_command("REPLICAOF", "NO", "ONE")
            await redis.set("other", "history")
        await testbed.wait_condition("SplitBrain", "True/SeveralMasters")
        async with testbed.redis(other) as redis:
            assert await redis.get("other") == "history"
        assert testbed.roles()[master] == "master"
        async with testbed.redis(other) as redis:
            address = next(pod.status.pod_ip for pod in testbed.pods("redis") if pod.name == master)
            await redis.execute_command("REPLICAOF", address, 6379)
        for pod in testbed.pods("sentinel"):
            testbed.faults(pod.name).go_on()
        await testbed.wait_condition("SplitBrain", "False/OneMaster")
        await testbed.wait_ready()
        await testbed.check()


async def test_a_cluster_starts_with_external_data_and_cuts_over(tmp_path: Path) -> None:
    """A migration: all servers follow an external Redis until the field is removed."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        async with testbed.external_redis() as (host, outside):
            for number in range(200):
                await outside.set(f"key-{number}", number)
            spec = failover_spec()
            spec.bootstrap_node = BootstrapNode(host=host)
            created = await testbed.submit(spec)
            await testbed.wait_condition("MasterAvailable", "False/FollowsBootstrapNode")
            await testbed.cluster.eventually(lambda: len(testbed.failover.status.replicas) == 3)
            await testbed.wait_synced()
            await testbed.check()
            assert set(testbed.roles().values()) == {""}
            await testbed.cluster.client.patch(created, {"spec": {"bootstrapNode": None}})
            await testbed.wait_ready()
            await outside.set("key-0", "written to the old one after the cut")
        await testbed.check()
        await testbed.write(begin=1000)
        await testbed.check(begin=1000)


async def test_a_missing_image_stops_the_update_and_can_be_corrected(tmp_path: Path) -> None:
    """The mistake costs one replica, no more; the correction does not wait for the pod that cannot start."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        created = await testbed.create(failover_spec())
        await testbed.write()
        master = testbed.failover.status.master
        await testbed.cluster.client.patch(created, {"spec": {"redis": {"image": "no-redis:1"}}})
        await testbed.wait_condition("Ready", "False/ServersMissing")
        await testbed.cluster.eventually(lambda: "ImagePull" in testbed.message("Ready"))
        assert testbed.failover.status.master == master
        assert len(testbed.failover.status.replicas) == 1
        await testbed.cluster.client.patch(created, {"spec": {"redis": {"image": "redis:7.2-alpine"}}})
        await testbed.wait_ready()
        await testbed.check()


async def test_a_master_that_handed_over_rejects_writes_before_it_is_demoted(tmp_path: Path) -> None:
    """The operator crashed after it requested the failover, and the pause has expired: a write now would be lost."""
    async with RedisTestbed.start(tmp_path) as testbed:
        async with testbed.cluster.running(testbed.operator):
            await testbed.create(failover_spec())
            await testbed.write()
        master = testbed.failover.status.master
        nodes = {pod.name: RedisNode(pod=pod.name, address=testbed.address(pod.name)) for pod in testbed.pods("redis")}
        replicas = tuple(node for name, node in nodes.items() if name != master)
        first = testbed.pods("sentinel")[0].name
        fence = Fence(nodes[master], replicas, write_quorum=2)
        sentinel = SentinelNode(pod=first, address=testbed.address(first))
        await RedisServers().execute(Failover(sentinel, replicas[0], "it must be removed", fence), ServerAccess())
        await testbed.cluster.eventually(lambda: _another_is_master(testbed, master))
        async with testbed.redis(master) as redis:
            await redis.execute_command("CLIENT UNPAUSE")
            with pytest.raises(ResponseError, match=r"NOREPLICAS|READONLY"):
                await redis.set("late", "lost")


async def _another_is_master(testbed: RedisTestbed, than: str) -> bool:
    for pod in testbed.pods("redis"):
        async with testbed.redis(pod.name) as redis:
            if pod.name != than and (await redis.info("replication"))["role"] == "master":
                return True
    return False
