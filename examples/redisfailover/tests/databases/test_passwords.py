"""Passwords of real servers and sentinels: changed, added and lost, while clients write and without a restart."""

from contextlib import suppress
from pathlib import Path

from redis.exceptions import AuthenticationError
from steersman import meta
from steersman.kinds.core_v1 import Secret

from redis_testbed.testbed import RedisTestbed, failover_spec
from redisfailover.api.redis_failover_v1 import AuthSettings
from redisfailover.names import passwords_name

AUTH, WORD, OTHER = "redis-auth", "first one", "second / one"


async def with_password(testbed: RedisTestbed) -> Secret:
    """Create a RedisFailover with a password and data; return the Secret."""
    secret = Secret(meta(AUTH, namespace="default"), string_data={"password": WORD})
    created = await testbed.cluster.client.create(secret)
    testbed.password = WORD
    spec = failover_spec()
    spec.auth = AuthSettings(secret_path=AUTH)
    await testbed.create(spec)
    await testbed.write()
    return created


async def accepting(testbed: RedisTestbed, password: str) -> int:
    """Return how many servers accept a password."""
    before, testbed.password = testbed.password, password
    found = 0
    try:
        for pod in testbed.pods("redis"):
            with suppress(AuthenticationError):
                async with testbed.redis(pod.name) as redis:
                    await redis.ping()
                    found += 1
    finally:
        testbed.password = before
    return found


async def is_rejected(testbed: RedisTestbed, password: str) -> bool:
    """Return whether no server accepts a password."""
    return await accepting(testbed, password) == 0


async def is_accepted(testbed: RedisTestbed, password: str) -> bool:
    """Return whether every server accepts a password."""
    return await accepting(testbed, password) == len(testbed.pods("redis"))


async def fails_over(testbed: RedisTestbed) -> None:
    """Make the master hang, and fail unless the sentinels replace it before the operator would."""
    master = testbed.failover.status.master
    before = testbed.cluster.clock.monotonic()
    testbed.faults(master).hang()
    await testbed.cluster.eventually(lambda: testbed.failover.status.master not in ("", master))
    took = testbed.cluster.clock.monotonic() - before
    testbed.faults(master).go_on()
    await testbed.wait_ready()
    assert took < OPERATOR_TAKES_OVER_AFTER


#: Seconds after which the operator would promote a server by itself.
OPERATOR_TAKES_OVER_AFTER = 50.0


async def test_a_password_changes_on_running_servers_and_sentinels(tmp_path: Path) -> None:
    """Sentinels kept the old one: the status was Ready, and failover no longer worked."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        secret = await with_password(testbed)
        run_ids = await testbed.run_ids()
        await testbed.cluster.client.patch(secret, {"stringData": {"password": OTHER}})
        testbed.password = OTHER
        await testbed.cluster.eventually(lambda: "PasswordChanged" in testbed.events)
        await testbed.cluster.eventually(lambda: is_rejected(testbed, WORD))
        await testbed.wait_ready()
        assert await testbed.run_ids() == run_ids  # no server was restarted
        # Existing connections stay; new ones must work.
        for pod in testbed.pods("redis"):
            async with testbed.redis(pod.name) as redis:
                await redis.execute_command("CLIENT KILL", "TYPE", "normal", "SKIPME", "yes")
                await redis.execute_command("CLIENT KILL", "TYPE", "replica", "SKIPME", "yes")
        await testbed.wait_consistent()
        await fails_over(testbed)
        await testbed.wait_consistent()
        await testbed.check()
        [record] = [one for one in testbed.cluster.list(Secret) if one.name == passwords_name("a")]
        assert WORD not in (record.data or {})["record"].decode()


async def test_clients_may_have_the_previous_password_for_a_while(tmp_path: Path) -> None:
    """Clients read the password once, at their start."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        secret = await with_password(testbed)
        change = {"stringData": {"password": OTHER, "previous": WORD}}
        await testbed.cluster.client.patch(secret, change)
        testbed.password = OTHER
        await testbed.cluster.eventually(lambda: is_accepted(testbed, OTHER))
        await testbed.wait_ready()
        await testbed.wait_consistent()
        assert await is_accepted(testbed, WORD)
        await testbed.cluster.client.patch(secret, {"data": {"previous": None}})
        await testbed.cluster.eventually(lambda: is_rejected(testbed, WORD))
        await testbed.wait_ready()


async def test_a_password_can_be_added_to_running_servers(tmp_path: Path) -> None:
    """The operator was locked out, and its advice to delete the pods would have deleted all data without a claim."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        created = await testbed.create(failover_spec())
        await testbed.write()
        secret = Secret(meta(AUTH, namespace="default"), string_data={"password": WORD})
        await testbed.cluster.client.create(secret)
        await testbed.cluster.client.patch(created, {"spec": {"auth": {"secretPath": AUTH}}})
        testbed.password = WORD
        await testbed.cluster.eventually(lambda: is_rejected(testbed, "wrong"))
        await testbed.wait_ready()
        await testbed.wait_consistent()
        await testbed.check()
        await fails_over(testbed)
        await testbed.check()


async def test_an_unknown_password_is_reported_with_a_way_out(tmp_path: Path) -> None:
    """The record was lost and the Secret replaced: the servers still have the password of their start."""
    async with RedisTestbed.start(tmp_path) as testbed:
        async with testbed.cluster.running(testbed.operator):
            secret = await with_password(testbed)
        [record] = [one for one in testbed.cluster.list(Secret) if one.name == passwords_name("a")]
        await testbed.cluster.client.delete(record)
        await testbed.cluster.client.patch(secret, {"stringData": {"password": OTHER}})
        async with testbed.cluster.running(testbed.operator):
            await testbed.wait_condition("Ready", "False/WrongPassword")
            assert "as its key 'previous'" in testbed.message("Ready")
            await testbed.cluster.client.patch(secret, {"stringData": {"previous": WORD}})
            testbed.password = OTHER
            await testbed.wait_ready()
            await testbed.wait_consistent()
            await testbed.check()
