"""ACL users of real servers: added, changed, removed and kept, without a restart."""

from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, NoPermissionError
from steersman import meta
from steersman.kinds.core_v1 import Secret

from redis_testbed.testbed import RedisTestbed, failover_spec
from redisfailover.api.redis_failover_v1 import AclUser, AuthSettings, SecretKey

WORD, OTHER = "first one", "second / one"


def user(*permissions: str, name: str = "app") -> AclUser:
    """Return a user whose password is in a Secret of its name."""
    return AclUser(name=name, password_secret_ref=SecretKey(name=name), permissions=list(permissions))


async def may(testbed: RedisTestbed, password: str, *command: str) -> list[str]:
    """Return how each server responds to a command of the user."""
    found = []
    for pod in testbed.pods("redis"):
        address = testbed.address(pod.name)
        async with Redis(host=address.host, port=address.port, username="app", password=password) as redis:
            try:
                await redis.execute_command(*command)
            except AuthenticationError:
                found.append("unknown")
            except NoPermissionError:
                found.append("forbidden")
            else:
                found.append("done")
    return found


async def test_users_follow_the_spec_and_their_secrets_on_running_servers(tmp_path: Path) -> None:
    """Every server has them, because any may become master; a Secret that is missing for a moment drops none."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        client = testbed.cluster.client
        failover = await testbed.create(failover_spec())
        run_ids = await testbed.run_ids()
        async with testbed.redis(testbed.failover.status.master) as redis:
            await redis.execute_command("ACL SETUSER", "by-hand", "on", ">x", "+ping")

        async def are(password: str, *command: str, response: str = "done") -> bool:
            return await may(testbed, password, *command) == [response] * 3

        # Added.
        await client.patch(failover, {"spec": {"auth": AuthSettings(users=[user("~app:*", "+@read")])}})
        await testbed.wait_condition("UsersReady", "False/UsersMissing")
        secret = await client.create(Secret(meta("app", namespace="default"), string_data={"password": WORD}))
        await testbed.cluster.eventually(lambda: are(WORD, "GET", "app:1"))
        assert await are(WORD, "GET", "other", response="forbidden")
        await testbed.wait_ready()
        # Changed.
        await client.patch(secret, {"stringData": {"password": OTHER}})
        await testbed.cluster.eventually(lambda: are(OTHER, "GET", "app:1"))
        assert await are(WORD, "GET", "app:1", response="unknown")
        await client.patch(failover, {"spec": {"auth": AuthSettings(users=[user("~*", "+@read", "-get")])}})
        await testbed.cluster.eventually(lambda: are(OTHER, "GET", "app:1", response="forbidden"))
        assert await are(OTHER, "EXISTS", "other")
        # The Secret is missing for a moment, and a server restarts.
        await client.delete(secret)
        await testbed.wait_condition("UsersReady", "False/UsersMissing")
        assert await are(OTHER, "EXISTS", "other")
        assert await testbed.run_ids() == run_ids
        testbed.faults(
            next(pod for pod in testbed.pods("redis") if pod.name != testbed.failover.status.master).name
        ).kill()
        await testbed.wait_ready()
        await testbed.cluster.eventually(lambda: are(OTHER, "EXISTS", "other"))
        # Removed.
        await client.patch(failover, {"spec": {"auth": {"users": None}}})
        await testbed.cluster.eventually(lambda: are(OTHER, "EXISTS", "other", response="unknown"))
        async with testbed.redis(testbed.failover.status.master) as redis:
            assert "by-hand" in await redis.execute_command("ACL USERS")
        await testbed.wait_ready()


async def test_permissions_that_redis_rejects_are_reported_and_change_nothing(tmp_path: Path) -> None:
    """A typo must not leave a user with half of its permissions."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.cluster.running(testbed.operator):
        secret = Secret(meta("app", namespace="default"), string_data={"password": WORD})
        await testbed.cluster.client.create(secret)
        spec = failover_spec()
        spec.auth = AuthSettings(users=[user("~*", "+get")])
        failover = await testbed.create(spec)
        await testbed.cluster.client.patch(
            failover, {"spec": {"auth": AuthSettings(users=[user("~*", "+set", "+nonsense")])}}
        )
        await testbed.wait_condition("Ready", "False/ConfigRejected")
        assert "the permissions of the user app" in testbed.message("Ready")
        assert await may(testbed, WORD, "GET", "a") == ["done"] * 3
