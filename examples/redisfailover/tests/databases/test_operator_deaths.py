"""The operator is gone after each of its writes, to the API server and to Redis, while servers fail."""

from pathlib import Path

from steersman.testing.crashes import dying_at_every_write

from redis_world.world import World, failover_spec
from redisfailover.actions import Action, Monitor, Promote
from redisfailover.operator import redis_operator
from redisfailover.redis_servers import RedisServers
from redisfailover.servers import Terms

#: Eight of them write what a new instance does not know to be there; labels, pods, the status and events follow.
WRITES = 13


class Died(Exception):  # noqa: N818 - it is what happened
    """The operator went down."""


class DeadlyServers(RedisServers):
    """Servers at which every step of the operator is its last: what it was about to do next is not done."""

    def __init__(self) -> None:
        """Nothing was done yet."""
        super().__init__()
        self.steps: list[type[Action]] = []

    async def act(self, action: Action, terms: Terms) -> None:
        """Take the step, and go down."""
        await super().act(action, terms)
        self.steps.append(type(action))
        raise Died(f"after {action}")


async def test_an_operator_that_dies_at_every_write_and_every_step_loses_nothing(tmp_path: Path) -> None:
    """From the first start over a failed master to the end of a rolling update; each instance does one thing."""
    servers = DeadlyServers()
    async with (
        World.start(tmp_path) as world,
        dying_at_every_write(world.cluster, redis_operator(servers), up_to=WRITES) as lives,
    ):
        created = await world.create(failover_spec())
        await world.write()
        master = world.seen.status.master
        world.faults(master).kill()
        await world.wait_other_master(than=master)
        await world.check()
        before = {pod.uid for pod in world.pods("redis")}
        await world.cluster.client.patch(created, {"spec": {"redis": {"image": "redis:7.2.1-alpine"}}})
        await world.cluster.eventually(lambda: not before & {pod.uid for pod in world.pods("redis")})
        await world.wait_ready()
        await world.check()
    assert {Promote, Monitor} <= set(servers.steps)
    assert len(lives) > WRITES
    last = [writes[-1] for writes in lives]
    assert [write for write in last if "/pods/" in write]
    assert [write for write in last if write.endswith("/status")]
