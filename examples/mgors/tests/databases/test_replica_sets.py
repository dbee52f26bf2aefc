"""Replica sets of real mongod processes: they begin, grow, shrink, are updated, rest and end."""

import pytest
from mongod_world import StartWorld
from pymongo.errors import OperationFailure
from steersman import meta
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import PersistentVolumeClaim, Secret

from mgors.api.mgors_v1 import Role, SecretRef, Storage, User


async def test_members_join_one_by_one_and_leave_one_by_one(start: StartWorld) -> None:
    """Three, five and three again, with all data, and every member has its vote before the next one comes."""
    async with start() as world:
        await world.create()
        await world.until_ready(3)
        await world.write(0, 100)
        assert world.events.count("MemberAdded") == 2
        await world.patch({"members": 5})
        await world.until_ready(5)
        await world.write(100, 100)
        await world.patch({"members": 1})
        await world.until_ready(1)
        await world.until(lambda: world.pods() == ["shop-0"])
        assert await world.count() == 200
        assert world.events.count("MemberRemoved") == 4


async def test_at_rest_it_looks_and_writes_nothing(start: StartWorld) -> None:
    """Looking costs nobody anything."""
    async with start() as world:
        await world.create(1)
        await world.until_ready(1)
        await world.until(lambda: [one.status.ready_replicas for one in world.cluster.list(StatefulSet)] == [1])
        await world.cluster.settle()
        faults = world.cluster.faults
        faults.clear()
        await world.until(lambda: faults.count("GET", "/leases/mgors-shop") >= 3)
        assert [write for write in faults.writes() if "/nodes/" not in write and "kube-node-lease" not in write] == []


async def test_an_arbiter_votes_beside_two_members(start: StartWorld) -> None:
    """An even number of members is only allowed with one, and it costs no durability."""
    async with start() as world:
        await world.create(2, arbiters=1)
        await world.until_ready(2)
        await world.until(lambda: "ARBITER" in [one.state for one in world.mgors.status.replica_set])
        await world.write(0, 10)
        assert await world.count() == 10


async def test_users_are_as_the_object_says(start: StartWorld) -> None:
    """With the password of a Secret, another one when that changes, and none when they are taken out."""
    async with start() as world:
        secret = await world.cluster.client.create(
            Secret(meta("app", namespace="default"), data={"password": b"first/:@"})
        )
        roles = [Role(name="readWrite", db="app")]
        user = User(name="app", db="app", password_secret_ref=SecretRef(name="app"), roles=roles)
        await world.create(1, users=[user])
        await world.until_ready(1)
        await world.until(lambda: "app.app" in world.secret("shop-connection"))
        async with world.connected("app.app") as client:
            await client.app.things.insert_one({"a": 1})
            with pytest.raises(OperationFailure):
                await client.other.things.insert_one({"a": 1})
        await world.cluster.client.patch(secret, {"data": {"password": "c2Vjb25k"}})
        await world.until(lambda: "second" in world.secret("shop-connection")["app.app"])
        async with world.connected("app.app") as client:
            assert await client.app.things.count_documents({}) == 1
        await world.patch({"users": []})
        await world.until(lambda: "app.app" not in world.secret("shop-connection"))
        async with world.connected() as client:
            assert (await client.app.command({"usersInfo": "app"}))["users"] == []


async def test_a_user_that_cannot_be_made_stops_nothing_else(start: StartWorld) -> None:
    """A role that does not exist is told, and members join as ever."""
    async with start() as world:
        await world.cluster.client.create(Secret(meta("app", namespace="default"), data={"password": b"x"}))
        roles = [Role(name="noSuchRole", db="app")]
        user = User(name="app", db="app", password_secret_ref=SecretRef(name="app"), roles=roles)
        await world.create(1, users=[user])
        await world.until_ready(1)
        await world.until(lambda: world.condition("UsersReady") == ("False", "UsersMissing"))
        await world.patch({"users": [], "members": 3})
        await world.until_ready(3)
        assert world.condition("UsersReady")[0] == "True"


async def test_pods_are_replaced_with_the_primary_last(start: StartWorld) -> None:
    """Another image reaches all, one by one, and clients write all the time."""
    async with start() as world:
        await world.create()
        await world.until_ready()
        await world.write(0, 50)
        await world.patch({"image": "mongo:6.0.5"})
        await world.until(lambda: world.events.count("PodReplaced") >= 2)
        await world.write(50, 50)
        await world.until(lambda: world.events.count("PodReplaced") == 3 and world.is_ready(), within=60)
        await world.write(100, 50)
        assert await world.count() == 150
        await world.until(lambda: "SteppingDown" in world.events)


async def test_a_set_is_paused_and_goes_on(start: StartWorld) -> None:
    """No pods, but their disks; and the same data afterwards."""
    async with start() as world:
        await world.create(1)
        await world.until_ready(1)
        await world.write(0, 10)
        await world.patch({"pause": True})
        await world.until(lambda: world.pods() == [] and world.condition("Paused")[0] == "True")
        assert world.condition("Ready") == ("False", "Paused")
        await world.patch({"pause": False})
        await world.until_ready(1)
        assert await world.count() == 10


async def test_features_of_a_newer_server_are_used_when_all_have_it(start: StartWorld) -> None:
    """A set that came from an older version is raised after the last pod was replaced."""
    async with start() as world:
        await world.create(1)
        await world.until_ready(1)
        async with world.connected() as client:
            await client.admin.command({"setFeatureCompatibilityVersion": "5.0"})
        await world.until(lambda: "CompatibilityRaised" in world.events)
        async with world.connected() as client:
            told = await client.admin.command({"getParameter": 1, "featureCompatibilityVersion": 1})
        assert told["featureCompatibilityVersion"]["version"] == "6.0"


@pytest.mark.parametrize("retain", ["Retain", "Delete"])
async def test_a_set_that_is_deleted_leaves_what_it_should(start: StartWorld, retain: str) -> None:
    """Disks stay, unless the object says otherwise; a set of the same name finds its data again."""
    async with start() as world:
        mgors = await world.create(1, storage=Storage(retain="Delete" if retain == "Delete" else "Retain"))
        await world.until_ready(1)
        await world.write(0, 10)
        await world.cluster.client.delete(mgors)
        await world.cluster.client.wait_deleted(mgors, timeout=30)
        left = [] if retain == "Delete" else ["data-shop-0"]
        await world.until(lambda: [claim.name for claim in world.cluster.list(PersistentVolumeClaim)] == left)
        if retain == "Retain":
            await world.create(1)
            await world.until_ready(1)
            assert await world.count() == 10
