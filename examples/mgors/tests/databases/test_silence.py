"""Silence is not death: what happens when members live and do not answer the operator."""

import pytest
from mongod_world import NAME, Partition, StartWorld, World
from steersman import meta
from steersman.kinds.core_v1 import Pod, Secret

from mgors.operator import mgors_operator


def uids(world: World) -> set[str]:
    """Return the identities of all pods."""
    return {pod.uid for pod in world.cluster.list(Pod) if not pod.is_deleting}


async def made(world: World) -> set[str]:
    """Create a set of three with some data; return its pods."""
    await world.create(3)
    await world.until_ready()
    await world.write(0, 100)
    return uids(world)


async def test_a_keyfile_that_is_lost_is_not_replaced_by_another(start: StartWorld) -> None:
    """Members have the old one: with another the operator would be a stranger to them, and they to their successors."""
    async with start() as world:
        pods = await made(world)
        content = world.secret(f"{NAME}-keyfile")
        [secret] = [one for one in world.cluster.list(Secret) if one.name == f"{NAME}-keyfile"]
        async with world.writing() as writes:
            await world.cluster.client.delete(secret)
            await world.until(lambda: world.condition("Ready") == ("False", "KeyfileMissing"))
            assert (world.primary, world.condition("QuorumAvailable")[0]) == ("", "Unknown")
            await world.patch({"image": "mongo:6.0.5"})
            await world.until(lambda: world.mgors.status.observed_generation == world.mgors.generation)
            assert uids(world) == pods
            assert f"{NAME}-keyfile" not in [one.name for one in world.cluster.list(Secret)]
            data = {key: value.encode() for key, value in content.items()}
            await world.cluster.client.create(Secret(meta(f"{NAME}-keyfile", namespace="default"), data=data))
            await world.until(lambda: world.is_ready() and not uids(world) & pods, within=90)
        await world.check(100, writes)


async def test_a_wrong_keyfile_is_named_and_no_pod_is_deleted(start: StartWorld) -> None:
    """All members reject us at once, and their pods are of an older revision: that looked like death."""
    async with start() as world:
        pods = await made(world)
        right = world.secret(f"{NAME}-keyfile")["keyfile"]
        await put_keyfile(world, "w" * 100)
        await world.patch({"image": "mongo:6.0.5"})
        await world.until(lambda: world.condition("Ready") == ("False", "NotAuthorised"))
        await world.looks(4)
        assert uids(world) == pods
        assert {one.state for one in world.mgors.status.replica_set} == {"NotAuthorised"}
        await put_keyfile(world, right)
        await world.until(lambda: world.is_ready() and not uids(world) & pods, within=90)
        assert await world.count() == 100


async def put_keyfile(world: World, content: str) -> None:
    """Write a keyfile into the Secret."""
    [secret] = [one for one in world.cluster.list(Secret) if one.name == f"{NAME}-keyfile"]
    await world.cluster.client.patch(secret, {"stringData": {"keyfile": content}})


@pytest.mark.parametrize("unreached", [2, 3])
async def test_pods_of_an_old_revision_that_only_we_do_not_reach_stay(start: StartWorld, unreached: int) -> None:
    """The network between the operator and the pods is broken, and an update is under way."""
    with Partition() as network:
        async with start(is_operated=False) as world, world.cluster.running(mgors_operator(dial=network.dial)):
            pods = await made(world)
            hosts = [world.host(pod) for pod in [world.primary, *world.secondaries]][:unreached]
            network.cut.update(hosts)
            await world.patch({"image": "mongo:6.0.5"})
            reason = "PrimaryUnreachable" if unreached == 2 else "MembersUnreachable"
            await world.until(lambda: world.condition("Ready") == ("False", reason))
            await world.looks(4)
            assert uids(world) == pods
            network.cut.clear()
            await world.until(lambda: world.is_ready() and not uids(world) & pods, within=90)
            assert await world.count() == 100
