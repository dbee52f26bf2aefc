"""What goes wrong with replica sets, on real processes: what a majority acknowledged is there afterwards."""

import pytest
from mongod_world import NAME, StartWorld, World
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_v1 import Unsafe
from mgors.connections import Door
from mgors.main import operator

#: The labels of its metrics.
SHOP = {"namespace": "default", "name": NAME}


async def made(world: World, **fields: object) -> None:
    """Make a set of three with some data."""
    await world.create(3, **fields)
    await world.until_ready()
    await world.write(0, 200)


async def test_the_primary_is_killed(start: StartWorld) -> None:
    """Another takes over, and the one that was killed follows it."""
    async with start() as world:
        await made(world)
        world.faults(world.primary).kill()
        await world.write(200, 100)
        await world.until(lambda: world.is_ready() and "PrimaryChanged" in world.events)
        assert await world.count() == 300
        assert (operator.metrics.get_sample_value("mgors_failovers_total", SHOP) or 0) >= 1
        followers = {**SHOP, "state": "SECONDARY"}
        await world.until(lambda: operator.metrics.get_sample_value("mgors_members", followers) == 2)


async def test_a_member_loses_its_disk(start: StartWorld) -> None:
    """It gets everything again from the others."""
    async with start() as world:
        await made(world)
        [lost, *_] = world.secondaries
        world.lose_disk(lost)
        await world.until(lambda: not world.is_ready())
        await world.write(200, 100)
        await world.until_ready()
        assert await world.count() == 300
        [host] = [one.host for one in world.mgors.status.replica_set if one.name == lost]
        async with Door(world.secret("shop-keyfile")["keyfile"]).member(host) as member:
            assert await member.mongo.shop.orders.count_documents({}) == 300


async def test_a_member_stands_still(start: StartWorld) -> None:
    """Its connections are open and it does not answer; the others go on, and so does it afterwards."""
    async with start() as world:
        await made(world)
        still = world.primary
        world.faults(still).hang()
        await world.until(lambda: world.primary not in ("", still), within=60)
        await world.write(200, 100)
        assert world.condition("QuorumAvailable")[0] == "True"
        assert world.condition("Ready")[0] == "False"
        world.faults(still).go_on()
        await world.until_ready()
        assert await world.count() == 300


async def test_a_majority_that_comes_back_is_waited_for(start: StartWorld) -> None:
    """Nothing is forced, however long it takes: only who asked for it gets that."""
    async with start() as world:
        await made(world)
        lost = world.secondaries
        for pod in lost:
            world.faults(pod).hang()
        await world.until(lambda: world.condition("QuorumAvailable")[0] == "False")
        await world.until(lambda: "QuorumLost" in world.events)
        for pod in lost:
            world.faults(pod).go_on()
        await world.until_ready()
        assert "ForcedReconfig" not in world.events
        assert await world.count() == 200


async def test_a_majority_that_is_gone_is_gone_without_where_that_is_allowed(start: StartWorld) -> None:
    """The member with the newest data goes on, and those that come back later join it."""
    async with start() as world:
        await made(world, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
        lost = world.secondaries
        survivor = world.primary
        for pod in lost:
            world.faults(pod).hang()
        await world.until(lambda: "ForcedReconfig" in world.events)
        await world.until(lambda: world.primary == survivor)
        await world.until(lambda: "QuorumLost" in world.events)
        for pod in lost:
            world.lose_disk(pod)
        await world.until_ready(within=60)
        await world.write(200, 100)
        assert await world.count() == 300


async def test_of_several_that_are_left_the_newest_data_goes_on(start: StartWorld) -> None:
    """Two of five are left, and one of them missed the last writes: nobody may go on from there."""
    async with start() as world:
        await world.create(5, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
        await world.until_ready(5, within=60)
        await world.write(0, 200)
        behind, _, *others = world.secondaries
        world.faults(behind).hang()
        await world.write(200, 100)
        lost = [world.primary, *others]
        for pod in lost:
            world.faults(pod).hang()
        world.faults(behind).go_on()
        await world.until(lambda: "ForcedReconfig" in world.events, within=60)
        await world.until(lambda: world.primary not in ("", *lost), within=60)
        assert await world.count() == 300
        for pod in lost:
            world.lose_disk(pod)
        await world.until_ready(5, within=90)
        assert await world.count() == 300


@pytest.mark.parametrize("may_force", [True, False])
async def test_two_of_three_disks_are_lost(start: StartWorld, may_force: bool) -> None:
    """The one that is left has everything; nobody begins a new set beside it."""
    async with start() as world:
        await made(world, unsafe=Unsafe(force_reconfig_on_lost_quorum=may_force))
        for pod in world.secondaries:
            world.lose_disk(pod)
        await world.until(lambda: not world.is_ready())
        await world.until_ready(within=60)
        assert world.events.count("ReplicaSetInitiated") == 1
        assert await world.count() == 200


async def test_a_member_that_was_removed_by_hand_joins_again(start: StartWorld) -> None:
    """What the object says holds, whoever says otherwise."""
    async with start() as world:
        await made(world)
        async with world.connected() as client:
            config = (await client.admin.command("replSetGetConfig"))["config"]
            [host] = [one.host for one in world.mgors.status.replica_set if one.name == world.secondaries[-1]]
            config["version"] += 1
            config["members"] = [one for one in config["members"] if one["host"] != host]
            await client.admin.command({"replSetReconfig": config})
        await world.until(lambda: world.events.count("MemberAdded") == 3)
        await world.until_ready()
        assert await world.count() == 200


async def test_a_member_has_another_address(start: StartWorld) -> None:
    """On a laptop members are known by their addresses; the configuration follows."""
    async with start() as world:
        await made(world)
        [moved, *_] = world.secondaries
        address = world.faults(moved).change_address()
        await world.until(lambda: "MemberMoved" in world.events)
        await world.until_ready()
        assert f"{address}:27017" in [one.host for one in world.mgors.status.replica_set]
        assert await world.count() == 200


async def test_all_pods_are_deleted_at_once(start: StartWorld) -> None:
    """Their disks are not: the same set comes back."""
    async with start() as world:
        await made(world)
        for pod in world.cluster.list(Pod):
            world.faults(pod.name).kill()
        await world.until(lambda: not world.is_ready())
        await world.until_ready()
        assert world.events.count("ReplicaSetInitiated") == 1
        assert await world.count() == 200
