"""Passwords of real servers and sentinels: changed, added and lost, while clients write and without a restart."""

from contextlib import suppress
from pathlib import Path

from redis.exceptions import AuthenticationError
from steersman import meta
from steersman.kinds.core_v1 import Secret

from redis_world.world import World, failover_spec
from redisfailover.api.redis_failover_v1 import AuthSettings
from redisfailover.names import passwords_name

AUTH, WORD, OTHER = "redis-auth", "first one", "second / one"


async def with_password(world: World) -> Secret:
    """Create a set that asks for a password, with data; return the Secret."""
    secret = Secret(meta(AUTH, namespace="default"), string_data={"password": WORD})
    created = await world.cluster.client.create(secret)
    world.password = WORD
    spec = failover_spec()
    spec.auth = AuthSettings(secret_path=AUTH)
    await world.create(spec)
    await world.write()
    return created


async def accepting(world: World, password: str) -> int:
    """Return how many servers let a client in with this password."""
    before, world.password = world.password, password
    found = 0
    try:
        for pod in world.pods("redis"):
            with suppress(AuthenticationError):
                async with world.redis(pod.name) as redis:
                    await redis.ping()
                    found += 1
    finally:
        world.password = before
    return found


async def is_refused(world: World, password: str) -> bool:
    """Return whether no server lets a client in with this password."""
    return await accepting(world, password) == 0


async def is_accepted(world: World, password: str) -> bool:
    """Return whether every server lets a client in with this password."""
    return await accepting(world, password) == len(world.pods("redis"))


async def fails_over(world: World) -> None:
    """Let the master hang, and fail unless the sentinels replace it: nobody else would for a minute."""
    master = world.seen.status.master
    before = world.cluster.clock.monotonic()
    world.faults(master).hang()
    await world.cluster.eventually(lambda: world.seen.status.master not in ("", master))
    took = world.cluster.clock.monotonic() - before
    world.faults(master).go_on()
    await world.wait_ready()
    assert took < PATIENCE


#: Seconds after which the operator would promote a server by itself.
PATIENCE = 50.0


async def test_a_password_changes_on_running_servers_and_sentinels(tmp_path: Path) -> None:
    """Sentinels kept the old one: all looked well, and there was no failover any more."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        secret = await with_password(world)
        runs = await world.runs()
        await world.cluster.client.patch(secret, {"stringData": {"password": OTHER}})
        world.password = OTHER
        await world.cluster.eventually(lambda: "PasswordChanged" in world.events)
        await world.cluster.eventually(lambda: is_refused(world, WORD))
        await world.wait_ready()
        assert await world.runs() == runs  # nobody was restarted
        # Connections that exist stay; what counts is whether new ones can be made.
        for pod in world.pods("redis"):
            async with world.redis(pod.name) as redis:
                await redis.execute_command("CLIENT KILL", "TYPE", "normal", "SKIPME", "yes")
                await redis.execute_command("CLIENT KILL", "TYPE", "replica", "SKIPME", "yes")
        await world.wait_well()
        await fails_over(world)
        await world.wait_well()
        await world.check()
        [record] = [one for one in world.cluster.list(Secret) if one.name == passwords_name("a")]
        assert WORD not in (record.data or {})["record"].decode()


async def test_clients_may_have_the_previous_password_for_a_while(tmp_path: Path) -> None:
    """They read it once, at their start."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        secret = await with_password(world)
        change = {"stringData": {"password": OTHER, "previous": WORD}}
        await world.cluster.client.patch(secret, change)
        world.password = OTHER
        await world.cluster.eventually(lambda: is_accepted(world, OTHER))
        await world.wait_ready()
        await world.wait_well()
        assert await is_accepted(world, WORD)
        await world.cluster.client.patch(secret, {"data": {"previous": None}})
        await world.cluster.eventually(lambda: is_refused(world, WORD))
        await world.wait_ready()


async def test_a_set_that_runs_without_a_password_gets_one(tmp_path: Path) -> None:
    """It was locked out forever, and the advice was to delete the pods: without a claim, with all data."""
    async with World.start(tmp_path) as world, world.cluster.running(world.operator):
        created = await world.create(failover_spec())
        await world.write()
        secret = Secret(meta(AUTH, namespace="default"), string_data={"password": WORD})
        await world.cluster.client.create(secret)
        await world.cluster.client.patch(created, {"spec": {"auth": {"secretPath": AUTH}}})
        world.password = WORD
        await world.cluster.eventually(lambda: is_refused(world, "wrong"))
        await world.wait_ready()
        await world.wait_well()
        await world.check()
        await fails_over(world)
        await world.check()


async def test_a_password_that_nobody_knows_is_named_with_a_way_out(tmp_path: Path) -> None:
    """The record was lost and the Secret replaced: the servers still have what they were started with."""
    async with World.start(tmp_path) as world:
        async with world.cluster.running(world.operator):
            secret = await with_password(world)
        [record] = [one for one in world.cluster.list(Secret) if one.name == passwords_name("a")]
        await world.cluster.client.delete(record)
        await world.cluster.client.patch(secret, {"stringData": {"password": OTHER}})
        async with world.cluster.running(world.operator):
            await world.wait_condition("Ready", "False/WrongPassword")
            assert "as its key 'previous'" in world.told("Ready")
            await world.cluster.client.patch(secret, {"stringData": {"previous": WORD}})
            world.password = OTHER
            await world.wait_ready()
            await world.wait_well()
            await world.check()
