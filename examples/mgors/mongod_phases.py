"""The phases of a replica set's life, for tests in which operators die: what happens, and what people wait for."""

import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mongod_testbed import NAME, MongodTestbed
from steersman import meta
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import PersistentVolumeClaim, Pod, Secret

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_restore_v1 import MgorsRestore, MgorsRestoreSpec
from mgors.api.mgors_v1 import BackupPlan, Storage, Unsafe
from mgors.connections import Connector, MemberError

#: Documents that are there before.
BEFORE = 100
#: Seconds that anything gets: operators die, and the machine may be busy.
PATIENCE = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of a replica set's life."""

    name: str
    #: What happens, and what people wait for.
    happens: Callable[[MongodTestbed], Awaitable[None]]
    #: How many members there are before; none means that there is no set yet.
    members: int = 3
    fields: dict[str, Any] = field(default_factory=dict)
    #: What is done before, with an operator that lives.
    prepare: Callable[[MongodTestbed], Awaitable[None]] | None = None
    #: Whether clients write meanwhile.
    is_open: bool = True
    #: Whether the set is there afterwards.
    stays: bool = True
    #: Writes at which operators must have died, by what is found in them.
    deaths: tuple[str, ...] = ("/status",)

    def missing_crashes(self, writes: Iterable[str]) -> list[str]:
        """Give what nobody has died at, of all that somebody must."""
        found = list(writes)
        return [death for death in self.deaths if not any(death in write for write in found)]


# Members come and go.


async def it_is_made(testbed: MongodTestbed) -> None:
    """Three members, from nothing."""
    await testbed.create(3)
    await testbed.until_ready(3, PATIENCE)
    await testbed.until(lambda: "admin.admin" in testbed.users())
    await testbed.write(0, BEFORE)


async def it_grows(testbed: MongodTestbed) -> None:
    """Two more members, one after the other."""
    await testbed.patch({"members": 3})
    await testbed.until_ready(3, PATIENCE)


async def another_leads(testbed: MongodTestbed) -> None:
    """Let the primary be one of those that will have to go."""
    async with testbed.connected() as client:
        await client.admin.command({"replSetStepDown": 4, "secondaryCatchUpPeriodSecs": 3})
    await testbed.until(lambda: testbed.primary in ("shop-1", "shop-2"), PATIENCE)
    await testbed.until_ready(3, PATIENCE)


async def it_shrinks(testbed: MongodTestbed) -> None:
    """One member is left, and the disks of the others go."""
    await testbed.patch({"members": 1})
    await testbed.until_ready(1, PATIENCE)
    await testbed.until(lambda: testbed.pods() == ["shop-0"], PATIENCE)
    await testbed.until(lambda: disks(testbed) == ["data-shop-0"], PATIENCE)


async def it_is_updated(testbed: MongodTestbed) -> None:
    """Every pod is another one afterwards."""
    before = {pod.uid for pod in testbed.cluster.list(Pod)}
    await testbed.patch({"image": "mongo:6.0.5"})
    await testbed.until(lambda: not before & {pod.uid for pod in testbed.cluster.list(Pod)}, PATIENCE)
    await testbed.until_ready(3, PATIENCE)


async def its_features_are_raised(testbed: MongodTestbed) -> None:
    """Give a set that came from an older version the features of this one."""
    async with testbed.connected() as client:
        await client.admin.command({"setFeatureCompatibilityVersion": "5.0"})

        async def is_raised() -> bool:
            told = await client.admin.command({"getParameter": 1, "featureCompatibilityVersion": 1})
            return bool(told["featureCompatibilityVersion"]["version"] == "6.0")

        await testbed.until(is_raised, PATIENCE)


async def it_rests(testbed: MongodTestbed) -> None:
    """No pods for a while."""
    await testbed.patch({"pause": True})
    await testbed.until(lambda: testbed.pods() == [] and testbed.condition("Paused")[0] == "True", PATIENCE)
    await testbed.patch({"pause": False})
    await testbed.until_ready(1, PATIENCE)


async def it_ends(testbed: MongodTestbed) -> None:
    """Delete the object, and all that it had."""
    mgors = testbed.mgors
    await testbed.cluster.client.delete(mgors)
    await testbed.cluster.client.wait_deleted(mgors, timeout=PATIENCE)
    await testbed.until(lambda: disks(testbed) == [] and testbed.pods() == [], PATIENCE)


def disks(testbed: MongodTestbed) -> list[str]:
    """Give the disks that are there."""
    return sorted(claim.name for claim in testbed.cluster.list(PersistentVolumeClaim) if not claim.is_deleting)


# Users.


async def users_change(testbed: MongodTestbed) -> None:
    """Ask for a user, give it another password, and take it out again."""
    secret = await testbed.cluster.client.create(Secret(meta("app", namespace="default"), data={"password": b"first"}))
    user = {"name": "app", "db": "app", "passwordSecretRef": {"name": "app"}, "roles": [{"name": "read", "db": "app"}]}
    await testbed.patch({"users": [user]})
    await testbed.until(lambda: "app.app" in testbed.users(), PATIENCE)
    await testbed.cluster.client.patch(secret, {"data": {"password": "c2Vjb25k"}})
    await testbed.until(lambda: "second" in testbed.secret("shop-connection")["app.app"], PATIENCE)
    async with testbed.connected("app.app") as client:
        assert await client.app.things.count_documents({}) == 0
    await testbed.patch({"users": []})
    await testbed.until(lambda: "app.app" not in testbed.users(), PATIENCE)
    async with testbed.connected() as client:
        assert (await client.app.command({"usersInfo": "app"}))["users"] == []


# Disasters.


async def a_disk_is_lost(testbed: MongodTestbed) -> None:
    """Take the disk of a secondary; it gets everything again from the others."""
    [lost, *_] = testbed.secondaries
    [host] = [one.host for one in testbed.mgors.status.replica_set if one.name == lost]
    testbed.lose_disk(lost)
    connector = Connector(testbed.secret("shop-keyfile")["keyfile"])

    async def has_all() -> bool:
        try:
            async with connector.member(host) as member:
                return bool(await member.mongo.shop.orders.count_documents({}) >= BEFORE)
        except MemberError:
            return False

    await testbed.until(has_all, PATIENCE)
    await testbed.until_ready(3, PATIENCE)


async def a_member_moves(testbed: MongodTestbed) -> None:
    """Give a secondary another address; the configuration follows."""
    [moved, *_] = testbed.secondaries
    address = testbed.faults(moved).change_address()
    await testbed.until(lambda: f"{address}:27017" in [one.host for one in testbed.mgors.status.replica_set], PATIENCE)
    await testbed.until_ready(3, PATIENCE)


async def a_majority_is_gone(testbed: MongodTestbed) -> None:
    """Leave the primary alone, which has all that was acknowledged; the others return with less, and catch up."""
    lost, survivor = testbed.secondaries, testbed.primary
    for pod in lost:
        testbed.take_down(pod)
    await testbed.until(lambda: testbed.condition("QuorumAvailable") == ("False", "QuorumLost"), PATIENCE)
    await testbed.consent(*lost)
    await testbed.until(lambda: testbed.mgors.status.members == 1 and testbed.primary == survivor, PATIENCE)
    for pod in lost:
        testbed.bring_up(pod)
    await testbed.until_ready(3, PATIENCE)


# Backups.


def backup_named(testbed: MongodTestbed, name: str = "by-hand") -> MgorsBackup:
    """Give a backup."""
    return next(one for one in testbed.cluster.list(MgorsBackup) if one.name == name)


async def it_is_backed_up(testbed: MongodTestbed) -> None:
    """By hand."""
    spec = MgorsBackupSpec(cluster_name=NAME)
    await testbed.cluster.client.create(MgorsBackup(meta("by-hand", namespace="default"), spec))
    await testbed.until(lambda: backup_named(testbed).is_finished, PATIENCE)
    assert backup_named(testbed).status.error == ""
    await testbed.until(lambda: is_at_rest(testbed), PATIENCE)
    assert backup_named(testbed).status.documents >= BEFORE


def is_at_rest(testbed: MongodTestbed) -> bool:
    """Tell whether nobody holds the Lease of backups and restores."""
    return not [lease for lease in testbed.cluster.list(Lease) if lease.name == f"mgors-{NAME}"]


async def a_backup_is_made_and_removed(testbed: MongodTestbed) -> None:
    """Its data goes with it."""
    await it_is_backed_up(testbed)
    assert saved() == ["by-hand"]
    backup = backup_named(testbed)
    await testbed.cluster.client.delete(backup)
    await testbed.cluster.client.wait_deleted(backup, timeout=PATIENCE)
    assert saved() == []


def saved() -> list[str]:
    """Give the names of the backups that are complete on disk."""
    return sorted(found.parent.name for found in Path(os.environ["MGORS_BACKUPS"]).rglob("manifest.json"))


async def a_schedule_is_kept(testbed: MongodTestbed) -> None:
    """Backups are made when they are due, none twice, and the newest is kept."""
    await testbed.patch({"backup": {"schedule": "@every 2s", "keep": 1}})

    def names() -> list[str]:
        return sorted(one.name for one in testbed.cluster.list(MgorsBackup) if one.name.startswith(NAME))

    await testbed.until(names, PATIENCE)
    first = names()[0]
    await testbed.until(lambda: first not in names(), PATIENCE)
    await testbed.patch({"backup": {"schedule": None}})
    await testbed.until(lambda: all(one.is_finished for one in testbed.cluster.list(MgorsBackup)), PATIENCE)
    await testbed.until(lambda: len(names()) == 1, PATIENCE)
    await testbed.until(lambda: [name for name in saved() if name.startswith(NAME)] == names(), PATIENCE)


async def all_is_lost_and_restored(testbed: MongodTestbed) -> None:
    """Every disk is gone; the backup has it all."""
    for pod in testbed.pods():
        testbed.lose_disk(pod)
    await testbed.until(lambda: testbed.condition("Ready") == ("False", "DataLost"), PATIENCE)
    spec = MgorsRestoreSpec(cluster_name=NAME, backup_name="by-hand")
    await testbed.cluster.client.create(MgorsRestore(meta("again", namespace="default"), spec))

    def found() -> MgorsRestore:
        return testbed.cluster.list(MgorsRestore)[0]

    await testbed.until(lambda: found().is_finished, PATIENCE)
    assert found().status.error == ""
    await testbed.until(lambda: is_at_rest(testbed), PATIENCE)
    await testbed.until_ready(1, PATIENCE)


_RECONFIG = ("replSetReconfig", "/status")
PHASES = [
    Phase(
        name="make",
        members=0,
        happens=it_is_made,
        is_open=False,
        deaths=(
            *_RECONFIG,
            *("replSetInitiate", "createUser admin", "setDefaultRWConcern"),
            *("/secrets", "/services/shop", "/statefulsets/shop", "/configmaps/shop-history"),
        ),
    ),
    Phase(name="scale up", members=1, happens=it_grows, deaths=_RECONFIG),
    Phase(
        name="scale down",
        fields={"storage": Storage(retain="Delete")},
        prepare=another_leads,
        happens=it_shrinks,
        deaths=(*_RECONFIG, "replSetStepDown", "DELETE /api/v1/namespaces/default/persistentvolumeclaims/data-shop-2"),
    ),
    Phase(name="update", happens=it_is_updated, deaths=("replSetStepDown", "/pods/shop-0", "/pods/shop-2", "/status")),
    Phase(name="features", members=1, happens=its_features_are_raised, deaths=("setFeatureCompatibilityVersion 6.0",)),
    Phase(name="pause", members=1, happens=it_rests, is_open=False, deaths=("/statefulsets/shop", "/status")),
    Phase(name="users", members=1, happens=users_change, deaths=("createUser app", "updateUser app", "dropUser app")),
    Phase(name="disk lost", happens=a_disk_is_lost, deaths=()),
    Phase(name="moved", happens=a_member_moves, deaths=_RECONFIG),
    Phase(
        name="force",
        fields={"unsafe": Unsafe(force_reconfig_on_lost_quorum=True)},
        happens=a_majority_is_gone,
        deaths=(*_RECONFIG, "/configmaps/shop-history"),
    ),
    Phase(name="backup", members=1, happens=a_backup_is_made_and_removed, deaths=("dump", "/leases", "/status")),
    Phase(
        name="schedule",
        members=1,
        fields={"backup": BackupPlan(keep=1)},
        happens=a_schedule_is_kept,
        deaths=("dump", "POST /apis/mongo.example.com/v1/namespaces/default/mgorsbackups"),
    ),
    Phase(
        name="restore",
        members=1,
        prepare=it_is_backed_up,
        happens=all_is_lost_and_restored,
        is_open=False,
        deaths=("replSetInitiate", "create mgors-new", "insert mgors-new", "renameCollection", "/leases", "/status"),
    ),
    Phase(
        name="delete",
        fields={"storage": Storage(retain="Delete")},
        happens=it_ends,
        is_open=False,
        stays=False,
        deaths=("/statefulsets/shop", "/pods/shop-0", "/persistentvolumeclaims/", "/mgorses/shop"),
    ),
]
