"""Replica sets of real mongod processes: created, scaled, updated, paused and deleted."""

import pytest
from mongod_testbed import StartTestbed
from pymongo.errors import OperationFailure
from steersman import meta
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.coordination_v1 import Lease, LeaseSpec
from steersman.kinds.core_v1 import PersistentVolumeClaim, Pod, Secret
from steersman.kinds.policy_v1 import PodDisruptionBudget

from mgors.api.mgors_v1 import Auth, MongodSettings, Role, SecretRef, Storage, User

CONNECTION = "shop-connection"


async def test_members_are_added_and_removed_one_by_one(start: StartTestbed) -> None:
    """From three to five and back, with all data; every member has its vote before the next one is added."""
    async with start() as testbed:
        await testbed.create()
        await testbed.until_ready(3)
        await testbed.write(0, 100)
        assert testbed.events.count("MemberAdded") == 2
        await testbed.patch({"members": 5})
        await testbed.until_ready(5)
        await testbed.write(100, 100)
        await testbed.patch({"members": 1})
        await testbed.until_ready(1)
        await testbed.until(lambda: testbed.pods() == ["shop-0"])
        assert await testbed.count() == 200
        assert testbed.events.count("MemberRemoved") == 4


async def test_a_settled_set_is_polled_without_any_write(start: StartTestbed) -> None:
    """Polling must not write to the API server or the database."""
    async with start() as testbed:
        await testbed.create(1)
        await testbed.until_ready(1)
        await testbed.until(lambda: [one.status.ready_replicas for one in testbed.cluster.list(StatefulSet)] == [1])
        await testbed.cluster.settle()
        faults = testbed.cluster.faults
        faults.clear()
        await testbed.until(lambda: faults.count("GET", "/leases/mgors-shop") >= 3)
        assert [write for write in faults.writes() if "/nodes/" not in write and "kube-node-lease" not in write] == []


async def test_an_arbiter_votes_with_two_members(start: StartTestbed) -> None:
    """An even number of members is only allowed with one, and durability stays the same."""
    async with start() as testbed:
        await testbed.create(2, arbiters=1)
        await testbed.until_ready(2)
        await testbed.until(lambda: "ARBITER" in [one.state for one in testbed.mgors.status.replica_set])
        await testbed.write(0, 10)
        assert await testbed.count() == 10


async def test_users_follow_the_spec(start: StartTestbed) -> None:
    """They have the password of a Secret, follow its changes, and are dropped when removed from the spec."""
    async with start() as testbed:
        secret = await testbed.cluster.client.create(
            Secret(meta("app", namespace="default"), data={"password": b"first/:@"})
        )
        roles = [Role(name="readWrite", db="app")]
        user = User(name="app", db="app", password_secret_ref=SecretRef(name="app"), roles=roles)
        await testbed.create(1, users=[user])
        await testbed.until_ready(1)
        await testbed.until(lambda: "app.app" in testbed.secret("shop-connection"))
        async with testbed.connected("app.app") as client:
            await client.app.things.insert_one({"a": 1})
            with pytest.raises(OperationFailure):
                await client.other.things.insert_one({"a": 1})
        await testbed.cluster.client.patch(secret, {"data": {"password": "c2Vjb25k"}})
        await testbed.until(lambda: "second" in testbed.secret("shop-connection")["app.app"])
        async with testbed.connected("app.app") as client:
            assert await client.app.things.count_documents({}) == 1
        await testbed.patch({"users": []})
        await testbed.until(lambda: "app.app" not in testbed.secret("shop-connection"))
        async with testbed.connected() as client:
            assert (await client.app.command({"usersInfo": "app"}))["users"] == []


async def test_a_secret_that_is_missing_for_a_moment_drops_no_user(start: StartTestbed) -> None:
    """Another tool replaces it by delete and create. The user and its connections must stay."""
    async with start() as testbed:
        app = Secret(meta("app", namespace="default"), data={"password": b"first"})
        secret = await testbed.cluster.client.create(app)
        user = User(
            name="app", db="app", password_secret_ref=SecretRef(name="app"), roles=[Role(name="read", db="app")]
        )
        await testbed.create(1, users=[user])
        await testbed.until(lambda: "app.app" in testbed.users())
        await testbed.until_ready(1)
        await testbed.cluster.client.delete(secret)
        await testbed.until(lambda: testbed.condition("UsersReady") == ("False", "UsersMissing"))
        assert "app.app" in testbed.users()
        async with testbed.connected("app.app") as client:
            assert await client.app.things.count_documents({}) == 0
        await testbed.cluster.client.create(Secret(meta("app", namespace="default"), data={"password": b"first"}))
        await testbed.until(lambda: testbed.condition("UsersReady")[0] == "True")


async def test_an_administrator_whose_secret_is_created_later_is_added(start: StartTestbed) -> None:
    """The Secret is not watched but polled, and nothing else waits for it."""
    async with start() as testbed:
        await testbed.create(1, auth=Auth(secret_name="boss"))  # noqa: S106 - the name of one
        await testbed.until_ready(1)
        await testbed.until(lambda: testbed.condition("UsersReady") == ("False", "UsersMissing"))
        assert "the Secret boss does not exist" in testbed.message("UsersReady")
        data = {"username": b"root", "password": b"x"}
        await testbed.cluster.client.create(Secret(meta("boss", namespace="default"), data=data))
        await testbed.until(lambda: "admin.root" in testbed.users())


async def test_disks_grow_if_their_class_allows_it(start: StartTestbed) -> None:
    """A StatefulSet rejects another size; the operator stopped reconciling then, and reported Ready."""
    async with start() as testbed:
        await testbed.create(1, storage=Storage(size="1Gi"))
        await testbed.until_ready(1)
        await testbed.patch({"storage": {"size": "2Gi"}})
        await testbed.until(lambda: testbed.condition("StorageAsAskedFor") == ("False", "ResizeRefused"))
        assert "data-shop-0 has 1Gi and cannot grow to 2Gi" in testbed.message("StorageAsAskedFor")
        await testbed.patch({"members": 3, "storage": {"size": "1Gi"}})
        await testbed.until_ready(3)
        assert testbed.condition("StorageAsAskedFor")[0] == "True"


async def test_connection_strings_change_only_with_the_members(start: StartTestbed) -> None:
    """The Secret was written six times in one rolling update, and restarted applications that watch it."""
    async with start() as testbed:
        await testbed.create(3)
        await testbed.until_ready()
        [before] = [one.metadata.resource_version for one in testbed.cluster.list(Secret) if one.name == CONNECTION]
        await testbed.patch({"image": "mongo:6.0.5"})
        await testbed.until(lambda: testbed.events.count("PodReplaced") == 3 and testbed.is_ready(), within=90)
        [after] = [one.metadata.resource_version for one in testbed.cluster.list(Secret) if one.name == CONNECTION]
        assert after == before


async def test_a_lease_of_a_deleted_backup_blocks_nothing(start: StartTestbed) -> None:
    """Its operator crashed, and its object was deleted without cleanup."""
    async with start() as testbed:
        await testbed.create(1)
        await testbed.until_ready(1)
        lease = Lease(meta("mgors-shop", namespace="default"), spec=LeaseSpec(holder_identity="MgorsBackup/gone/0"))
        await testbed.cluster.client.create(lease)
        await testbed.patch({"image": "mongo:6.0.5"})
        await testbed.until(lambda: "PodReplaced" in testbed.events)
        await testbed.until_ready(1)


async def test_a_user_that_cannot_be_created_blocks_nothing_else(start: StartTestbed) -> None:
    """An unknown role is reported, and members still join."""
    async with start() as testbed:
        await testbed.cluster.client.create(Secret(meta("app", namespace="default"), data={"password": b"x"}))
        roles = [Role(name="noSuchRole", db="app")]
        user = User(name="app", db="app", password_secret_ref=SecretRef(name="app"), roles=roles)
        await testbed.create(1, users=[user])
        await testbed.until_ready(1)
        await testbed.until(lambda: testbed.condition("UsersReady") == ("False", "UsersMissing"))
        await testbed.patch({"users": [], "members": 3})
        await testbed.until_ready(3)
        assert testbed.condition("UsersReady")[0] == "True"


async def test_pods_are_replaced_with_the_primary_last(start: StartTestbed) -> None:
    """All pods get the new image, one by one, while clients write."""
    async with start() as testbed:
        await testbed.create()
        await testbed.until_ready()
        await testbed.write(0, 50)
        await testbed.patch({"image": "mongo:6.0.5"})
        await testbed.until(lambda: testbed.events.count("PodReplaced") >= 2)
        await testbed.write(50, 50)
        await testbed.until(lambda: testbed.events.count("PodReplaced") == 3 and testbed.is_ready(), within=60)
        await testbed.write(100, 50)
        assert await testbed.count() == 150
        await testbed.until(lambda: "SteppingDown" in testbed.events)


async def test_a_set_is_paused_and_resumed(start: StartTestbed) -> None:
    """The pods are deleted and the disks stay, with the same data afterwards."""
    async with start() as testbed:
        await testbed.create(1)
        await testbed.until_ready(1)
        await testbed.write(0, 10)
        await testbed.patch({"pause": True})
        await testbed.until(lambda: testbed.pods() == [] and testbed.condition("Paused")[0] == "True")
        assert testbed.condition("Ready") == ("False", "Paused")
        await testbed.patch({"pause": False})
        await testbed.until_ready(1)
        assert await testbed.count() == 10


async def test_features_of_a_newer_server_are_enabled_when_all_have_it(start: StartTestbed) -> None:
    """After the last pod was replaced, and not while the spec holds the version back."""
    async with start() as testbed:
        await testbed.create(1, feature_compatibility_version="5.0")
        await testbed.until_ready(1)
        async with testbed.connected() as client:
            await client.admin.command({"setFeatureCompatibilityVersion": "5.0"})
        await testbed.wait_reconciles(3)
        assert "CompatibilityRaised" not in testbed.events
        await testbed.patch({"featureCompatibilityVersion": None})
        await testbed.until(lambda: "CompatibilityRaised" in testbed.events)
        async with testbed.connected() as client:
            reply = await client.admin.command({"getParameter": 1, "featureCompatibilityVersion": 1})
        assert reply["featureCompatibilityVersion"]["version"] == "6.0"


async def test_pods_get_options_and_an_image_that_would_crash_is_not_used(start: StartTestbed) -> None:
    """A real mongod accepts the options, and evictions are allowed only while a majority can spare a member."""
    async with start() as testbed:
        options = MongodSettings(
            cache_size="256Mi", options={"oplogSize": "990"}, parameters={"ttlMonitorSleepSecs": "7"}
        )
        await testbed.create(3, mongod=options)
        await testbed.until_ready()
        async with testbed.connected() as client:
            asked = await client.admin.command({"getCmdLineOpts": 1})
        parsed = asked["parsed"]
        assert parsed["storage"]["wiredTiger"]["engineConfig"]["cacheSizeGB"] == 0.25
        assert (parsed["replication"]["oplogSizeMB"], parsed["setParameter"]["ttlMonitorSleepSecs"]) == (990, "7")
        pods = {pod.uid for pod in testbed.cluster.list(Pod)}
        await testbed.patch({"image": "mongo:8.0"})
        await testbed.until(lambda: testbed.condition("UpgradeAllowed") == ("False", "UnsupportedUpgrade"))
        await testbed.wait_reconciles(3)
        assert {pod.uid for pod in testbed.cluster.list(Pod)} == pods
        assert testbed.condition("Ready")[0] == "True"
        await testbed.patch({"image": "mongo:6.0"})
        await testbed.until(lambda: testbed.condition("UpgradeAllowed")[0] == "True")
        [budget] = testbed.cluster.list(PodDisruptionBudget)
        assert budget.spec.max_unavailable == 1
        testbed.take_down(testbed.secondaries[0])
        await testbed.until(lambda: testbed.cluster.list(PodDisruptionBudget)[0].spec.max_unavailable == 0)


@pytest.mark.parametrize("retain", ["Retain", "Delete"])
async def test_a_deleted_set_keeps_its_disks_if_wanted(start: StartTestbed, retain: str) -> None:
    """Disks stay unless the spec says Delete; a new set of the same name finds its data."""
    async with start() as testbed:
        mgors = await testbed.create(1, storage=Storage(retain="Delete" if retain == "Delete" else "Retain"))
        await testbed.until_ready(1)
        await testbed.write(0, 10)
        await testbed.cluster.client.delete(mgors)
        await testbed.cluster.client.wait_deleted(mgors, timeout=30)
        left = [] if retain == "Delete" else ["data-shop-0"]
        await testbed.until(lambda: [claim.name for claim in testbed.cluster.list(PersistentVolumeClaim)] == left)
        if retain == "Retain":
            await testbed.create(1)
            await testbed.until_ready(1)
            assert await testbed.count() == 10
