"""Failures of replica sets with real processes: no write that a majority acknowledged is lost."""

import pytest
from mongod_testbed import NAME, MongodTestbed, Partition, StartTestbed
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_v1 import Unsafe
from mgors.main import operator
from mgors.operator import mgors_operator

#: Labels of the metrics of the replica set.
SHOP = {"namespace": "default", "name": NAME}


async def made(testbed: MongodTestbed, **fields: object) -> None:
    """Create a set of three with some data."""
    await testbed.create(3, **fields)
    await testbed.until_ready()
    await testbed.write(0, 200)


async def test_the_primary_is_killed(start: StartTestbed) -> None:
    """Another member becomes primary, and the killed one follows it."""
    async with start() as testbed:
        await made(testbed)
        testbed.faults(testbed.primary).kill()
        await testbed.write(200, 100)
        await testbed.until(lambda: testbed.is_ready() and "PrimaryChanged" in testbed.events)
        assert await testbed.count() == 300
        assert (operator.metrics.get_sample_value("mgors_failovers_total", SHOP) or 0) >= 1
        followers = {**SHOP, "state": "SECONDARY"}
        await testbed.until(lambda: operator.metrics.get_sample_value("mgors_members", followers) == 2)


async def test_a_member_loses_its_disk(start: StartTestbed) -> None:
    """It synchronises again from the others."""
    async with start() as testbed:
        await made(testbed)
        [lost, *_] = testbed.secondaries
        testbed.lose_disk(lost)
        await testbed.until(lambda: not testbed.is_ready())
        await testbed.write(200, 100)
        await testbed.until_ready()
        assert await testbed.count() == 300
        [host] = [one.host for one in testbed.mgors.status.replica_set if one.name == lost]
        async with testbed.connector().member(host) as member:
            assert await member.mongo.shop.orders.count_documents({}) == 300


async def test_a_member_hangs(start: StartTestbed) -> None:
    """It accepts connections and does not respond; the others continue, and it catches up afterwards."""
    async with start() as testbed:
        await made(testbed)
        still = testbed.primary
        testbed.faults(still).hang()
        await testbed.until(lambda: testbed.primary not in ("", still), within=60)
        await testbed.write(200, 100)
        assert testbed.condition("QuorumAvailable")[0] == "True"
        assert testbed.condition("Ready")[0] == "False"
        testbed.faults(still).go_on()
        await testbed.until_ready()
        assert await testbed.count() == 300


async def test_the_operator_waits_for_a_lost_majority(start: StartTestbed) -> None:
    """Nothing is forced without consent, however long it takes."""
    async with start() as testbed:
        await made(testbed)
        lost = testbed.secondaries
        for pod in lost:
            testbed.faults(pod).hang()
        await testbed.until(lambda: testbed.condition("QuorumAvailable")[0] == "False")
        await testbed.until(lambda: "QuorumLost" in testbed.events)
        for pod in lost:
            testbed.faults(pod).go_on()
        await testbed.until_ready()
        assert "ForcedReconfig" not in testbed.events
        assert await testbed.count() == 200


async def go_on_without(testbed: MongodTestbed, lost: list[str]) -> None:
    """Consent to give up these members, and wait for the force."""
    await testbed.until(lambda: testbed.condition("QuorumAvailable") == ("False", "QuorumLost"), within=60)
    await testbed.consent(*lost)
    await testbed.until(lambda: "ForcedReconfig" in testbed.events, within=60)
    await testbed.until(lambda: testbed.primary not in ("", *lost), within=60)


async def test_a_majority_that_is_lost_for_good_is_given_up_by_consent(start: StartTestbed) -> None:
    """The remaining member continues; members that return without other writes join again."""
    async with start() as testbed:
        await made(testbed, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
        lost, survivor = testbed.secondaries, testbed.primary
        for pod in lost:
            testbed.take_down(pod)
        await go_on_without(testbed, lost)
        assert testbed.primary == survivor
        await testbed.write(200, 100)
        for pod in lost:
            testbed.bring_up(pod)
        await testbed.until_ready(within=60)
        assert await testbed.count() == 300
        assert testbed.events.count("ForcedReconfig") == 1
        assert testbed.events.count("VotesChanged") == 2


async def test_members_that_return_with_other_writes_are_not_added(start: StartTestbed) -> None:
    """They have acknowledged writes that the survivor lacks: joining would crash them and take the set down.

    mongod ends with fassert 51121 when it has to undo what a majority had; such a member must not vote.
    """
    async with start() as testbed:
        await made(testbed, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
        survivor, other = testbed.secondaries
        leader = testbed.primary
        testbed.take_down(survivor)
        await testbed.write(200, 100)  # the other two are a majority
        for pod in (leader, other):
            async with testbed.connector().member(testbed.host(pod)) as member:
                await member.mongo.admin.command("fsync")  # a checkpoint cannot be rolled back
            testbed.take_down(pod)
        testbed.bring_up(survivor)
        await go_on_without(testbed, [leader, other])
        assert (testbed.primary, await testbed.count()) == (survivor, 200)
        async with testbed.writing() as writes:
            for pod in (leader, other):
                testbed.bring_up(pod)
            await testbed.until(lambda: testbed.condition("Ready") == ("False", "DivergedData"), within=60)
            await testbed.wait_reconciles(10)
            assert (testbed.primary, testbed.mgors.status.members) == (survivor, 1)
            assert testbed.events.count("ForcedReconfig") == 1
            assert "DivergedData" in testbed.events
            for pod in (leader, other):
                testbed.lose_disk(pod)  # as the condition advises
            await testbed.until_ready(within=90)
        await testbed.check(200, writes)
        assert testbed.primary == survivor


async def test_a_set_that_only_the_operator_cannot_reach_is_left_alone(start: StartTestbed) -> None:
    """The one member that it reaches sees the primary: even with consent nothing is forced."""
    with Partition() as network:
        async with start(is_operated=False) as testbed, testbed.cluster.running(mgors_operator(dial=network.dial)):
            await made(testbed, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
            unreached = [testbed.primary, testbed.secondaries[0]]
            async with testbed.writing() as writes:
                network.cut.update(testbed.host(pod) for pod in unreached)
                await testbed.until(lambda: testbed.condition("Ready") == ("False", "PrimaryUnreachable"))
                await testbed.consent(*unreached)
                await testbed.wait_reconciles(6)
                assert testbed.condition("QuorumAvailable")[0] == "True"
                network.cut.clear()
                await testbed.until_ready()
            await testbed.check(200, writes)
            assert "ForcedReconfig" not in testbed.events
            assert "PrimaryChanged" not in testbed.events


async def test_members_with_ready_pods_are_not_given_up(start: StartTestbed) -> None:
    """They hang, and their pods are Ready. After a restart all data is available."""
    async with start() as testbed:
        await made(testbed, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
        lost = testbed.secondaries
        for pod in lost:
            testbed.faults(pod).hang()
        await testbed.until(lambda: testbed.condition("QuorumAvailable")[0] == "False")
        await testbed.consent(*lost)
        await testbed.until(lambda: "although its pod is Ready" in testbed.message("Ready"))
        await testbed.wait_reconciles(4)
        assert "ForcedReconfig" not in testbed.events
        for pod in lost:
            testbed.faults(pod).kill()
        await testbed.until_ready()
        assert await testbed.count() == 200


async def test_the_newest_data_of_the_remaining_members_is_kept(start: StartTestbed) -> None:
    """Two of five are left, and one of them lacks the last writes: its data must not win."""
    async with start() as testbed:
        await testbed.create(5, unsafe=Unsafe(force_reconfig_on_lost_quorum=True))
        await testbed.until_ready(5, within=60)
        await testbed.write(0, 200)
        behind, _, *others = testbed.secondaries
        testbed.faults(behind).hang()
        await testbed.write(200, 100)
        lost = [testbed.primary, *others]
        for pod in lost:
            testbed.take_down(pod)
        testbed.faults(behind).go_on()
        await go_on_without(testbed, lost)
        assert await testbed.count() == 300
        for pod in lost:
            testbed.bring_up(pod)
        await testbed.until_ready(5, within=90)
        assert await testbed.count() == 300


@pytest.mark.parametrize("may_force", [True, False])
async def test_two_of_three_disks_are_lost(start: StartTestbed, may_force: bool) -> None:
    """The third has all data; no new set may be initiated next to it."""
    async with start() as testbed:
        await made(testbed, unsafe=Unsafe(force_reconfig_on_lost_quorum=may_force))
        for pod in testbed.secondaries:
            testbed.lose_disk(pod)
        await testbed.until(lambda: not testbed.is_ready())
        await testbed.until_ready(within=60)
        assert testbed.events.count("ReplicaSetInitiated") == 1
        assert await testbed.count() == 200


async def test_a_member_that_was_removed_by_hand_joins_again(start: StartTestbed) -> None:
    """The spec decides which members there are."""
    async with start() as testbed:
        await made(testbed)
        async with testbed.connected() as client:
            config = (await client.admin.command("replSetGetConfig"))["config"]
            [host] = [one.host for one in testbed.mgors.status.replica_set if one.name == testbed.secondaries[-1]]
            config["version"] += 1
            config["members"] = [one for one in config["members"] if one["host"] != host]
            await client.admin.command({"replSetReconfig": config})
        await testbed.until(lambda: testbed.events.count("MemberAdded") == 3)
        await testbed.until_ready()
        assert await testbed.count() == 200


async def test_a_member_gets_another_address(start: StartTestbed) -> None:
    """On a local node hosts are IPs; the configuration must follow."""
    async with start() as testbed:
        await made(testbed)
        [moved, *_] = testbed.secondaries
        address = testbed.faults(moved).change_address()
        await testbed.until(lambda: "MemberMoved" in testbed.events)
        await testbed.until_ready()
        assert f"{address}:27017" in [one.host for one in testbed.mgors.status.replica_set]
        assert await testbed.count() == 200


async def test_all_pods_are_deleted_at_once(start: StartTestbed) -> None:
    """Their disks stay: the same set returns."""
    async with start() as testbed:
        await made(testbed)
        for pod in testbed.cluster.list(Pod):
            testbed.faults(pod.name).kill()
        await testbed.until(lambda: not testbed.is_ready())
        await testbed.until_ready()
        assert testbed.events.count("ReplicaSetInitiated") == 1
        assert await testbed.count() == 200
