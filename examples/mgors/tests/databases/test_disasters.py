"""What goes wrong with replica sets, on real processes: what a majority acknowledged is there afterwards."""

import pytest
from mongod_world import NAME, Partition, StartWorld, World
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_v1 import Unsafe
from mgors.connections import Connector
from mgors.main import operator
from mgors.operator import mgors_operator

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
        async with Connector(world.secret("shop-keyfile")["keyfile"]).member(host) as member:
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


async def go_on_without(world: World, lost: list[str]) -> None:
    """Consent to go on without these, and wait until that has happened."""
    await world.until(lambda: world.condition("QuorumAvailable") == ("False", "QuorumLost"), within=60)
    await world.consent(*lost)
    await world.until(lambda: "ForcedReconfig" in world.events, within=60)
    await world.until(lambda: world.primary not in ("", *lost), within=60)


async def test_a_majority_that_is_gone_is_given_up_by_consent(start: StartWorld) -> None:
    """The member that is left goes on; those that return with nothing else than what it has join it again."""
    async with start() as world:
        await made(world, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
        lost, survivor = world.secondaries, world.primary
        for pod in lost:
            world.take_down(pod)
        await go_on_without(world, lost)
        assert world.primary == survivor
        await world.write(200, 100)
        for pod in lost:
            world.bring_up(pod)
        await world.until_ready(within=60)
        assert await world.count() == 300
        assert world.events.count("ForcedReconfig") == 1
        assert world.events.count("VotesChanged") == 2


async def test_members_that_return_with_other_writes_stay_outside(start: StartWorld) -> None:
    """They hold acknowledged writes that the survivor never got: joining would crash them and take the set down.

    mongod ends with fassert 51121 when it has to undo what a majority had; such a member must not vote.
    """
    async with start() as world:
        await made(world, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
        survivor, other = world.secondaries
        leader = world.primary
        world.take_down(survivor)
        await world.write(200, 100)  # the other two are a majority
        for pod in (leader, other):
            async with Connector(world.secret("shop-keyfile")["keyfile"]).member(world.host(pod)) as member:
                await member.mongo.admin.command("fsync")  # what is in a checkpoint cannot be undone
            world.take_down(pod)
        world.bring_up(survivor)
        await go_on_without(world, [leader, other])
        assert (world.primary, await world.count()) == (survivor, 200)
        async with world.writing() as writes:
            for pod in (leader, other):
                world.bring_up(pod)
            await world.until(lambda: world.condition("Ready") == ("False", "DivergedData"), within=60)
            await world.looks(10)
            assert (world.primary, world.mgors.status.members) == (survivor, 1)
            assert world.events.count("ForcedReconfig") == 1
            assert "DivergedData" in world.events
            for pod in (leader, other):
                world.lose_disk(pod)  # as the condition says
            await world.until_ready(within=90)
        await world.check(200, writes)
        assert world.primary == survivor


async def test_a_set_that_only_the_operator_does_not_reach_is_left_alone(start: StartWorld) -> None:
    """The one member that it reaches sees the primary: whatever was consented to, clients go on writing."""
    with Partition() as network:
        async with start(is_operated=False) as world, world.cluster.running(mgors_operator(dial=network.dial)):
            await made(world, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
            unreached = [world.primary, world.secondaries[0]]
            async with world.writing() as writes:
                network.cut.update(world.host(pod) for pod in unreached)
                await world.until(lambda: world.condition("Ready") == ("False", "PrimaryUnreachable"))
                await world.consent(*unreached)
                await world.looks(6)
                assert world.condition("QuorumAvailable")[0] == "True"
                network.cut.clear()
                await world.until_ready()
            await world.check(200, writes)
            assert "ForcedReconfig" not in world.events
            assert "PrimaryChanged" not in world.events


async def test_pods_that_are_ready_are_not_given_up(start: StartWorld) -> None:
    """They hang; the kubelet sees that they accept connections. They can be restarted, and then all is there."""
    async with start() as world:
        await made(world, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
        lost = world.secondaries
        for pod in lost:
            world.faults(pod).hang()
        await world.until(lambda: world.condition("QuorumAvailable")[0] == "False")
        await world.consent(*lost)
        await world.until(lambda: "although its pod is Ready" in world.message("Ready"))
        await world.looks(4)
        assert "ForcedReconfig" not in world.events
        for pod in lost:
            world.faults(pod).kill()
        await world.until_ready()
        assert await world.count() == 200


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
            world.take_down(pod)
        world.faults(behind).go_on()
        await go_on_without(world, lost)
        assert await world.count() == 300
        for pod in lost:
            world.bring_up(pod)
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
