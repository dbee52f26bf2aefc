"""What goes wrong with real servers and sentinels, and what becomes of the data."""

from pathlib import Path

from redis_world.world import World, failover_spec


async def test_servers_are_replicating_and_the_service_leads_to_the_master(tmp_path: Path) -> None:
    """The least that a user expects."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        await world.create(failover_spec())
        await world.write()
        await world.check()
        master = world.seen.status.master
        assert world.roles() == {pod.name: "master" if pod.name == master else "slave" for pod in world.pods("redis")}
        [address] = world.served_master
        assert address == next(pod.status.pod_ip for pod in world.pods("redis") if pod.name == master)
