"""Migration to the storage version: all objects, once, and an object that fails keeps the old version listed."""

from dataclasses import dataclass
from typing import Any

import pytest

from steersman import Model, Resource, Status, Unstructured, custom_resource, meta
from steersman.client.storage_migration import Migration, Progress, rewrite, trim
from steersman.errors import Conflict
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.objects.registry import Registry
from steersman.schema.crd import crd_of
from steersman.testing.cluster import Cluster
from steersman.testing.faults import Before, Refuse

NAME = "boats.migration.example.com"
KINDS = Registry()


class BoatSpec(Model):
    """The spec of a boat."""

    sails: int = 1


@custom_resource("migration.example.com/v1beta1", kind="Boat", into=KINDS)
class BetaBoat(Resource[BoatSpec, Status]):
    """A boat."""


@custom_resource("migration.example.com/v1", kind="Boat", storage=True, into=KINDS)
class Boat(Resource[BoatSpec, Status]):
    """A boat."""


async def _stored_as(cluster: Cluster, version: str) -> None:
    """Install the CRD with the given version as the storage version."""
    definition = crd_of(BetaBoat, Boat)
    for entry in definition["spec"]["versions"]:
        entry["storage"] = entry["name"] == version
    await cluster.client.apply(Unstructured(definition), force=True)


@dataclass
class Fleet:
    """Boats stored as v1beta1, while v1 is the storage version now."""

    cluster: Cluster

    async def launch(self, count: int) -> Migration:
        """Create the boats, then make v1 the storage version."""
        await _stored_as(self.cluster, "v1beta1")
        for number in range(count):
            await self.cluster.client.create(BetaBoat(meta(f"b{number:03}"), BoatSpec(sails=number)))
        await _stored_as(self.cluster, "v1")
        await self.cluster.client.create(Boat(meta("new"), BoatSpec(sails=9)))
        return await self.migration()

    async def migration(self) -> Migration:
        """Return the migration for the current CRD."""
        return Migration.of(await self.cluster.client.get(CustomResourceDefinition, NAME))

    async def move(self, migration: Migration, told: Any = lambda _: None) -> Progress:
        """Rewrite all objects."""
        return await rewrite(self.cluster.client, migration.kind, told)

    def stored_versions(self) -> set[str]:
        """Return the versions in which boats are stored, as the server's own store has them."""
        (served,) = self.cluster.server.catalog.resources("migration.example.com", "v1")
        return {record.decode()["apiVersion"] for record in self.cluster.server.objects.records(served)}


async def test_every_object_is_rewritten_once_and_the_old_version_is_removed(cluster: Cluster) -> None:
    """The whole procedure; more objects than fit in one batch."""
    fleet = Fleet(cluster)
    migration = await fleet.launch(40)
    assert (migration.kind.version, migration.former) == ("v1", ("v1beta1",))
    assert fleet.stored_versions() == {"migration.example.com/v1beta1", "migration.example.com/v1"}
    seen: list[int] = []
    progress = await fleet.move(migration, lambda now: seen.append(now.seen))
    assert (progress.rewritten, progress.untouched, progress.refused) == (40, 1, {})
    assert seen == sorted(seen)
    assert seen[-1] == 41
    assert fleet.stored_versions() == {"migration.example.com/v1"}
    await trim(cluster.client, migration)
    assert (await fleet.migration()).former == ()
    assert (await fleet.move(migration)).rewritten == 0


async def test_objects_are_unchanged_afterwards(cluster: Cluster) -> None:
    """Operators must not be triggered: content, generation and owners of fields stay."""
    fleet = Fleet(cluster)
    migration = await fleet.launch(1)
    before = await cluster.client.get(Boat, "b000")
    await fleet.move(migration)
    after = await cluster.client.get(Boat, "b000")
    assert after.resource_version != before.resource_version
    assert (after.spec, after.generation, after.uid) == (before.spec, before.generation, before.uid)
    assert after.metadata.managed_fields == before.metadata.managed_fields


async def test_an_object_deleted_meanwhile_is_not_a_failure(cluster: Cluster) -> None:
    """The cluster stays in use during the migration."""
    fleet = Fleet(cluster)
    migration = await fleet.launch(3)

    def delete_object() -> None:
        (served,) = cluster.server.catalog.resources("migration.example.com", "v1")
        record = next(one for one in cluster.server.objects.records(served) if one.name == "b001")
        cluster.server.objects.remove(served, record)

    cluster.faults.inject(Before(delete_object), method="PATCH", path="/boats/b001")
    progress = await fleet.move(migration)
    assert (progress.rewritten, progress.untouched, progress.refused) == (2, 2, {})


async def test_a_rejected_object_is_named_and_the_others_are_rewritten(cluster: Cluster) -> None:
    """One broken object must not stop the migration of the rest."""
    fleet = Fleet(cluster)
    migration = await fleet.launch(3)
    cluster.faults.inject(Refuse(422, "Invalid", "sails: must be even"), method="PATCH", path="/boats/b001")
    progress = await fleet.move(migration)
    assert progress.refused == {"default/b001": "sails: must be even"}
    assert progress.rewritten == 2


async def test_the_status_of_a_crd_that_changed_meanwhile_is_not_updated(cluster: Cluster) -> None:
    """After a rollback objects are stored as v1beta1 again, and the status must still say so."""
    fleet = Fleet(cluster)
    migration = await fleet.launch(2)
    await fleet.move(migration)
    await _stored_as(cluster, "v1beta1")
    with pytest.raises(Conflict, match="was changed meanwhile and stores v1beta1, not v1: migrate again"):
        await trim(cluster.client, migration)


async def test_an_interrupted_migration_can_be_repeated(cluster: Cluster) -> None:
    """Ctrl-C in the middle loses nothing: rewritten objects are skipped, and the rest is rewritten."""
    fleet = Fleet(cluster)
    migration = await fleet.launch(40)

    def interrupt(progress: Progress) -> None:
        if progress.seen >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await fleet.move(migration, interrupt)
    assert fleet.stored_versions() == {"migration.example.com/v1beta1", "migration.example.com/v1"}
    progress = await fleet.move(migration)
    assert progress.rewritten < 40
    assert progress.rewritten + progress.untouched == 41
    assert fleet.stored_versions() == {"migration.example.com/v1"}
