"""Members that are alive but do not respond to the operator must not be treated as dead."""

import pytest
from mongod_testbed import NAME, MongodTestbed, Partition, StartTestbed
from steersman import meta
from steersman.kinds.core_v1 import Pod, Secret

from mgors.operator import mgors_operator


def uids(testbed: MongodTestbed) -> set[str]:
    """Return the uids of all pods."""
    return {pod.uid for pod in testbed.cluster.list(Pod) if not pod.is_deleting}


async def made(testbed: MongodTestbed) -> set[str]:
    """Create a set of three with some data; return its pods."""
    await testbed.create(3)
    await testbed.until_ready()
    await testbed.write(0, 100)
    return uids(testbed)


async def test_a_lost_keyfile_is_not_replaced_by_another(start: StartTestbed) -> None:
    """Members have the old one: with another they would reject the operator and new members."""
    async with start() as testbed:
        pods = await made(testbed)
        content = testbed.secret(f"{NAME}-keyfile")
        [secret] = [one for one in testbed.cluster.list(Secret) if one.name == f"{NAME}-keyfile"]
        async with testbed.writing() as writes:
            await testbed.cluster.client.delete(secret)
            await testbed.until(lambda: testbed.condition("Ready") == ("False", "KeyfileMissing"))
            assert (testbed.primary, testbed.condition("QuorumAvailable")[0]) == ("", "Unknown")
            await testbed.patch({"image": "mongo:6.0.5"})
            await testbed.until(lambda: testbed.mgors.status.observed_generation == testbed.mgors.generation)
            assert uids(testbed) == pods
            assert f"{NAME}-keyfile" not in [one.name for one in testbed.cluster.list(Secret)]
            data = {key: value.encode() for key, value in content.items()}
            await testbed.cluster.client.create(Secret(meta(f"{NAME}-keyfile", namespace="default"), data=data))
            await testbed.until(lambda: testbed.is_ready() and not uids(testbed) & pods, within=90)
        await testbed.check(100, writes)


async def test_a_wrong_keyfile_is_reported_and_no_pod_is_deleted(start: StartTestbed) -> None:
    """All members reject the operator, and their pods have an older revision: they were considered dead."""
    async with start() as testbed:
        pods = await made(testbed)
        right = testbed.secret(f"{NAME}-keyfile")["keyfile"]
        await put_keyfile(testbed, "w" * 100)
        await testbed.patch({"image": "mongo:6.0.5"})
        await testbed.until(lambda: testbed.condition("Ready") == ("False", "NotAuthorised"))
        await testbed.wait_reconciles(4)
        assert uids(testbed) == pods
        assert {one.state for one in testbed.mgors.status.replica_set} == {"NotAuthorised"}
        await put_keyfile(testbed, right)
        await testbed.until(lambda: testbed.is_ready() and not uids(testbed) & pods, within=90)
        assert await testbed.count() == 100


async def put_keyfile(testbed: MongodTestbed, content: str) -> None:
    """Write a keyfile into the Secret."""
    [secret] = [one for one in testbed.cluster.list(Secret) if one.name == f"{NAME}-keyfile"]
    await testbed.cluster.client.patch(secret, {"stringData": {"keyfile": content}})


@pytest.mark.parametrize("unreached", [2, 3])
async def test_outdated_pods_that_only_the_operator_cannot_reach_stay(start: StartTestbed, unreached: int) -> None:
    """The network between the operator and the pods is broken during an update."""
    with Partition() as network:
        async with start(is_operated=False) as testbed, testbed.cluster.running(mgors_operator(dial=network.dial)):
            pods = await made(testbed)
            hosts = [testbed.host(pod) for pod in [testbed.primary, *testbed.secondaries]][:unreached]
            network.cut.update(hosts)
            await testbed.patch({"image": "mongo:6.0.5"})
            reason = "PrimaryUnreachable" if unreached == 2 else "MembersUnreachable"
            await testbed.until(lambda: testbed.condition("Ready") == ("False", reason))
            await testbed.wait_reconciles(4)
            assert uids(testbed) == pods
            network.cut.clear()
            await testbed.until(lambda: testbed.is_ready() and not uids(testbed) & pods, within=90)
            assert await testbed.count() == 100
