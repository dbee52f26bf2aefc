"""Phases in the life of a replica set, for tests in which operators crash."""

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
from mgors.connections import MemberError
from mgors.keyfile import Keyfile
from mgors.pod_template import KEYFILE

#: Number of documents before the phase.
BEFORE = 100
#: Seconds to wait: operators crash, and the machine may be busy.
TIMEOUT = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase in the life of a replica set."""

    name: str
    #: Changes something, and waits until the change is complete.
    run: Callable[[MongodTestbed], Awaitable[None]]
    #: Number of members before the phase; 0 if there is no set yet.
    members: int = 3
    fields: dict[str, Any] = field(default_factory=dict)
    #: Runs before the phase, with an operator that does not crash.
    prepare: Callable[[MongodTestbed], Awaitable[None]] | None = None
    #: Whether clients write meanwhile.
    has_writer: bool = True
    #: Whether the set exists afterwards.
    exists_after: bool = True
    #: Texts of writes at which operators must have crashed.
    crashes: tuple[str, ...] = ("/status",)

    def missing_crashes(self, writes: Iterable[str]) -> list[str]:
        """Return those at which no operator has crashed yet."""
        found = list(writes)
        return [crash for crash in self.crashes if not any(crash in write for write in found)]


# Members come and go.


async def create_set(testbed: MongodTestbed) -> None:
    """Create a set of three members."""
    await testbed.create(3)
    await testbed.until_ready(3, TIMEOUT)
    await testbed.until(lambda: "admin.admin" in testbed.users())
    await testbed.write(0, BEFORE)


async def scale_up(testbed: MongodTestbed) -> None:
    """Scale to three members, one after the other."""
    await testbed.patch({"members": 3})
    await testbed.until_ready(3, TIMEOUT)


async def move_primary(testbed: MongodTestbed) -> None:
    """Make a member primary that will be removed."""
    async with testbed.connected() as client:
        await client.admin.command({"replSetStepDown": 4, "secondaryCatchUpPeriodSecs": 3})
    await testbed.until(lambda: testbed.primary in ("shop-1", "shop-2"), TIMEOUT)
    await testbed.until_ready(3, TIMEOUT)


async def scale_down(testbed: MongodTestbed) -> None:
    """Scale to one member; the disks of the others are deleted."""
    await testbed.patch({"members": 1})
    await testbed.until_ready(1, TIMEOUT)
    await testbed.until(lambda: testbed.pods() == ["shop-0"], TIMEOUT)
    await testbed.until(lambda: disks(testbed) == ["data-shop-0"], TIMEOUT)


async def update_image(testbed: MongodTestbed) -> None:
    """Change the image, so that every pod is replaced."""
    before = {pod.uid for pod in testbed.cluster.list(Pod)}
    await testbed.patch({"image": "mongo:6.0.5"})
    await testbed.until(lambda: not before & {pod.uid for pod in testbed.cluster.list(Pod)}, TIMEOUT)
    await testbed.until_ready(3, TIMEOUT)


async def raise_features(testbed: MongodTestbed) -> None:
    """Enable the features of the current version in a set of an older one."""
    async with testbed.connected() as client:
        await client.admin.command({"setFeatureCompatibilityVersion": "5.0"})

        async def is_raised() -> bool:
            reply = await client.admin.command({"getParameter": 1, "featureCompatibilityVersion": 1})
            return bool(reply["featureCompatibilityVersion"]["version"] == "6.0")

        await testbed.until(is_raised, TIMEOUT)


async def pause_and_resume(testbed: MongodTestbed) -> None:
    """Pause and resume the set."""
    await testbed.patch({"pause": True})
    await testbed.until(lambda: testbed.pods() == [] and testbed.condition("Paused")[0] == "True", TIMEOUT)
    await testbed.patch({"pause": False})
    await testbed.until_ready(1, TIMEOUT)


async def delete_set(testbed: MongodTestbed) -> None:
    """Delete the object, with its pods and disks."""
    mgors = testbed.mgors
    await testbed.cluster.client.delete(mgors)
    await testbed.cluster.client.wait_deleted(mgors, timeout=TIMEOUT)
    await testbed.until(lambda: disks(testbed) == [] and testbed.pods() == [], TIMEOUT)


def disks(testbed: MongodTestbed) -> list[str]:
    """Return the names of the existing disks."""
    return sorted(claim.name for claim in testbed.cluster.list(PersistentVolumeClaim) if not claim.is_deleting)


# Users.


async def change_users(testbed: MongodTestbed) -> None:
    """Add a user, change its password, and remove it again."""
    secret = await testbed.cluster.client.create(Secret(meta("app", namespace="default"), data={"password": b"first"}))
    user = {"name": "app", "db": "app", "passwordSecretRef": {"name": "app"}, "roles": [{"name": "read", "db": "app"}]}
    await testbed.patch({"users": [user]})
    await testbed.until(lambda: "app.app" in testbed.users(), TIMEOUT)
    await testbed.cluster.client.patch(secret, {"data": {"password": "c2Vjb25k"}})
    await testbed.until(lambda: "second" in testbed.secret("shop-connection")["app.app"], TIMEOUT)
    async with testbed.connected("app.app") as client:
        assert await client.app.things.count_documents({}) == 0
    await testbed.patch({"users": []})
    await testbed.until(lambda: "app.app" not in testbed.users(), TIMEOUT)
    async with testbed.connected() as client:
        assert (await client.app.command({"usersInfo": "app"}))["users"] == []


# Disasters.


async def lose_one_disk(testbed: MongodTestbed) -> None:
    """Delete the disk of a secondary, which then synchronises again from the others."""
    [lost, *_] = testbed.secondaries
    [host] = [one.host for one in testbed.mgors.status.replica_set if one.name == lost]
    testbed.lose_disk(lost)
    connector = testbed.connector()

    async def has_all() -> bool:
        try:
            async with connector.member(host) as member:
                return bool(await member.mongo.shop.orders.count_documents({}) >= BEFORE)
        except MemberError:
            return False

    await testbed.until(has_all, TIMEOUT)
    await testbed.until_ready(3, TIMEOUT)


async def change_address(testbed: MongodTestbed) -> None:
    """Change the address of a secondary, which the configuration must follow."""
    [moved, *_] = testbed.secondaries
    address = testbed.faults(moved).change_address()
    await testbed.until(lambda: f"{address}:27017" in [one.host for one in testbed.mgors.status.replica_set], TIMEOUT)
    await testbed.until_ready(3, TIMEOUT)


async def lose_majority(testbed: MongodTestbed) -> None:
    """Take down all secondaries, consent to a force, and let them return and catch up."""
    lost, survivor = testbed.secondaries, testbed.primary
    for pod in lost:
        testbed.take_down(pod)
    await testbed.until(lambda: testbed.condition("QuorumAvailable") == ("False", "QuorumLost"), TIMEOUT)
    await testbed.consent(*lost)
    await testbed.until(lambda: testbed.mgors.status.members == 1 and testbed.primary == survivor, TIMEOUT)
    for pod in lost:
        testbed.bring_up(pod)
    await testbed.until_ready(3, TIMEOUT)


# Backups.


def backup_named(testbed: MongodTestbed, name: str = "by-hand") -> MgorsBackup:
    """Return a backup."""
    return next(one for one in testbed.cluster.list(MgorsBackup) if one.name == name)


async def back_up(testbed: MongodTestbed) -> None:
    """Create a backup by hand."""
    spec = MgorsBackupSpec(cluster_name=NAME)
    await testbed.cluster.client.create(MgorsBackup(meta("by-hand", namespace="default"), spec))
    await testbed.until(lambda: backup_named(testbed).is_finished, TIMEOUT)
    assert backup_named(testbed).status.error == ""
    await testbed.until(lambda: is_lease_free(testbed), TIMEOUT)
    assert backup_named(testbed).status.documents >= BEFORE


def is_lease_free(testbed: MongodTestbed) -> bool:
    """Return whether no backup or restore holds the Lease."""
    return not [lease for lease in testbed.cluster.list(Lease) if lease.name == f"mgors-{NAME}"]


async def back_up_and_delete(testbed: MongodTestbed) -> None:
    """Create a backup and delete it, with its files."""
    await back_up(testbed)
    assert saved() == ["by-hand"]
    backup = backup_named(testbed)
    await testbed.cluster.client.delete(backup)
    await testbed.cluster.client.wait_deleted(backup, timeout=TIMEOUT)
    assert saved() == []


def saved() -> list[str]:
    """Return the names of the complete backups on disk."""
    return sorted(found.parent.name for found in Path(os.environ["MGORS_BACKUPS"]).rglob("manifest.json"))


async def follow_schedule(testbed: MongodTestbed) -> None:
    """Schedule backups: each is made once when it is due, and only the newest is kept."""
    await testbed.patch({"backup": {"schedule": "@every 2s", "keep": 1}})

    def names() -> list[str]:
        return sorted(one.name for one in testbed.cluster.list(MgorsBackup) if one.name.startswith(NAME))

    await testbed.until(names, TIMEOUT)
    first = names()[0]
    await testbed.until(lambda: first not in names(), TIMEOUT)
    await testbed.patch({"backup": {"schedule": None}})
    await testbed.until(lambda: all(one.is_finished for one in testbed.cluster.list(MgorsBackup)), TIMEOUT)
    await testbed.until(lambda: len(names()) == 1, TIMEOUT)
    await testbed.until(lambda: [name for name in saved() if name.startswith(NAME)] == names(), TIMEOUT)


async def lose_all_disks_and_restore(testbed: MongodTestbed) -> None:
    """Delete every disk, and restore the backup."""
    for pod in testbed.pods():
        testbed.lose_disk(pod)
    await testbed.until(lambda: testbed.condition("Ready") == ("False", "DataLost"), TIMEOUT)
    spec = MgorsRestoreSpec(cluster_name=NAME, backup_name="by-hand")
    await testbed.cluster.client.create(MgorsRestore(meta("again", namespace="default"), spec))

    def found() -> MgorsRestore:
        return testbed.cluster.list(MgorsRestore)[0]

    await testbed.until(lambda: found().is_finished, TIMEOUT)
    assert found().status.error == ""
    await testbed.until(lambda: is_lease_free(testbed), TIMEOUT)
    await testbed.until_ready(1, TIMEOUT)


async def rotate_keyfile(testbed: MongodTestbed) -> None:
    """Replace the key that members share, which replaces the pod twice."""
    before = testbed.secret(f"{NAME}-keyfile")["keyfile"]
    await testbed.patch({"auth": {"keyfileRevision": "2"}})

    def is_rotated() -> bool:
        text = testbed.secret(f"{NAME}-keyfile")["keyfile"]
        mark = Keyfile.parse(text, "2").mark
        marks = {pod.annotations.get(KEYFILE) for pod in testbed.cluster.list(Pod)}
        return before not in text and marks == {mark}

    await testbed.until(is_rotated, TIMEOUT)
    await testbed.until_ready(1, TIMEOUT)


_RECONFIG = ("replSetReconfig", "/status")
PHASES = [
    Phase(
        name="make",
        members=0,
        run=create_set,
        has_writer=False,
        crashes=(
            *_RECONFIG,
            *("replSetInitiate", "createUser admin", "setDefaultRWConcern"),
            *("/secrets", "/services/shop", "/statefulsets/shop", "/configmaps/shop-history"),
        ),
    ),
    Phase(name="scale up", members=1, run=scale_up, crashes=_RECONFIG),
    Phase(
        name="scale down",
        fields={"storage": Storage(retain="Delete")},
        prepare=move_primary,
        run=scale_down,
        crashes=(*_RECONFIG, "replSetStepDown", "DELETE /api/v1/namespaces/default/persistentvolumeclaims/data-shop-2"),
    ),
    Phase(name="update", run=update_image, crashes=("replSetStepDown", "/pods/shop-0", "/pods/shop-2", "/status")),
    Phase(name="features", members=1, run=raise_features, crashes=("setFeatureCompatibilityVersion 6.0",)),
    Phase(name="pause", members=1, run=pause_and_resume, has_writer=False, crashes=("/statefulsets/shop", "/status")),
    Phase(name="users", members=1, run=change_users, crashes=("createUser app", "updateUser app", "dropUser app")),
    Phase(
        name="keyfile", members=1, run=rotate_keyfile, crashes=("/secrets/shop-keyfile", "/pods/shop-0", "updateUser")
    ),
    Phase(name="disk lost", run=lose_one_disk, crashes=()),
    Phase(name="moved", run=change_address, crashes=_RECONFIG),
    Phase(
        name="force",
        fields={"unsafe": Unsafe(force_reconfig_on_lost_quorum=True)},
        run=lose_majority,
        crashes=(*_RECONFIG, "/configmaps/shop-history"),
    ),
    Phase(name="backup", members=1, run=back_up_and_delete, crashes=("dump", "/leases", "/status")),
    Phase(
        name="schedule",
        members=1,
        fields={"backup": BackupPlan(keep=1)},
        run=follow_schedule,
        crashes=("dump", "POST /apis/mongo.example.com/v1/namespaces/default/mgorsbackups"),
    ),
    Phase(
        name="restore",
        members=1,
        prepare=back_up,
        run=lose_all_disks_and_restore,
        has_writer=False,
        crashes=("replSetInitiate", "create mgors-new", "insert mgors-new", "renameCollection", "/leases", "/status"),
    ),
    Phase(
        name="delete",
        fields={"storage": Storage(retain="Delete")},
        run=delete_set,
        has_writer=False,
        exists_after=False,
        crashes=("/statefulsets/shop", "/pods/shop-0", "/persistentvolumeclaims/", "/mgorses/shop"),
    ),
]
