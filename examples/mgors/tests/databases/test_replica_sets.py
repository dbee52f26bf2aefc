"""Replica sets of real mongod processes: they begin, grow, shrink, are updated, rest and end."""

import pytest
from mongod_world import StartWorld
from pymongo.errors import OperationFailure
from steersman import meta
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.coordination_v1 import Lease, LeaseSpec
from steersman.kinds.core_v1 import PersistentVolumeClaim, Secret

from mgors.api.mgors_v1 import Auth, Role, SecretRef, Storage, User

CONNECTION = "shop-connection"


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


async def test_a_secret_that_is_missing_for_a_moment_drops_nobody(start: StartWorld) -> None:
    """It is replaced by another tool: delete, create. The user, and whoever is connected as it, goes on."""
    async with start() as world:
        app = Secret(meta("app", namespace="default"), data={"password": b"first"})
        secret = await world.cluster.client.create(app)
        user = User(
            name="app", db="app", password_secret_ref=SecretRef(name="app"), roles=[Role(name="read", db="app")]
        )
        await world.create(1, users=[user])
        await world.until(lambda: "app.app" in world.users())
        await world.until_ready(1)
        await world.cluster.client.delete(secret)
        await world.until(lambda: world.condition("UsersReady") == ("False", "UsersMissing"))
        assert "app.app" in world.users()
        async with world.connected("app.app") as client:
            assert await client.app.things.count_documents({}) == 0
        await world.cluster.client.create(Secret(meta("app", namespace="default"), data={"password": b"first"}))
        await world.until(lambda: world.condition("UsersReady")[0] == "True")


async def test_an_administrator_whose_secret_comes_later_gets_in(start: StartWorld) -> None:
    """The Secret is not watched: it is looked for again, and nothing else waits for it."""
    async with start() as world:
        await world.create(1, auth=Auth(secret_name="boss"))  # noqa: S106 - the name of one
        await world.until_ready(1)
        await world.until(lambda: world.condition("UsersReady") == ("False", "UsersMissing"))
        assert "there is no Secret boss" in world.message("UsersReady")
        data = {"username": b"root", "password": b"x"}
        await world.cluster.client.create(Secret(meta("boss", namespace="default"), data=data))
        await world.until(lambda: "admin.root" in world.users())


async def test_disks_grow_where_their_class_allows_it(start: StartWorld) -> None:
    """A StatefulSet refuses another size; the operator was blind from then on, and said that all was well."""
    async with start() as world:
        await world.create(1, storage=Storage(size="1Gi"))
        await world.until_ready(1)
        await world.patch({"storage": {"size": "2Gi"}})
        await world.until(lambda: world.condition("StorageAsAskedFor") == ("False", "ResizeRefused"))
        assert "data-shop-0 has 1Gi and cannot grow to 2Gi" in world.message("StorageAsAskedFor")
        await world.patch({"members": 3, "storage": {"size": "1Gi"}})
        await world.until_ready(3)
        assert world.condition("StorageAsAskedFor")[0] == "True"


async def test_what_applications_connect_with_changes_with_the_members_only(start: StartWorld) -> None:
    """It was written six times in one rolling update, and each time whoever watches it restarted."""
    async with start() as world:
        await world.create(3)
        await world.until_ready()
        [before] = [one.metadata.resource_version for one in world.cluster.list(Secret) if one.name == CONNECTION]
        await world.patch({"image": "mongo:6.0.5"})
        await world.until(lambda: world.events.count("PodReplaced") == 3 and world.is_ready(), within=90)
        [after] = [one.metadata.resource_version for one in world.cluster.list(Secret) if one.name == CONNECTION]
        assert after == before


async def test_a_lease_of_a_backup_that_is_gone_blocks_nothing(start: StartWorld) -> None:
    """Its operator died, and its object was deleted without a trace."""
    async with start() as world:
        await world.create(1)
        await world.until_ready(1)
        lease = Lease(meta("mgors-shop", namespace="default"), spec=LeaseSpec(holder_identity="MgorsBackup/gone/0"))
        await world.cluster.client.create(lease)
        await world.patch({"image": "mongo:6.0.5"})
        await world.until(lambda: "PodReplaced" in world.events)
        await world.until_ready(1)


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
    """A set that came from an older version is raised after the last pod was replaced, and not before it may be."""
    async with start() as world:
        await world.create(1, feature_compatibility_version="5.0")
        await world.until_ready(1)
        async with world.connected() as client:
            await client.admin.command({"setFeatureCompatibilityVersion": "5.0"})
        await world.looks(3)
        assert "CompatibilityRaised" not in world.events
        await world.patch({"featureCompatibilityVersion": None})
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
