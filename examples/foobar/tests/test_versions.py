"""Two versions of one kind serve the same objects."""

import pytest
from steersman import Unstructured, meta
from steersman.client import Migration, rewrite, trim
from steersman.errors import DeclarationError
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager import install_definitions
from steersman.schema import crd_of
from steersman.testing import Cluster, assert_round_trips

from foobar.api.foo_bar_v1 import FooBar, FooBarSpec
from foobar.api.foo_bar_v1beta1 import FooBarSpec as OldSpec
from foobar.api.foo_bar_v1beta1 import FooBarV1beta1, TargetRef
from foobar.main import operator


def test_nothing_gets_lost_between_the_versions() -> None:
    """A round trip preserves every field."""
    assert_round_trips(FooBar, FooBarV1beta1)


async def test_an_object_of_the_old_version_is_reconciled_and_read_in_both(cluster: Cluster) -> None:
    """The operator uses only the new version."""
    await cluster.client.create(ConfigMap(meta("one")))
    async with cluster.running(operator):
        await cluster.client.create(FooBarV1beta1(meta("a"), OldSpec(target_ref=TargetRef(name="one"), type="big")))
        await cluster.settle()
        new = await cluster.client.get(FooBar, "a")
        assert new.spec == FooBarSpec(target="one", type="big")
        old = await cluster.client.get(FooBarV1beta1, "a")
        assert (old.spec.target_ref.name, old.status.status) == ("one", "ApplySucceed")


async def test_a_change_in_the_old_version_moves_the_target(cluster: Cluster) -> None:
    """Users of the old version can still change objects."""
    for name in ("one", "two"):
        await cluster.client.create(ConfigMap(meta(name)))
    async with cluster.running(operator):
        await cluster.client.create(FooBar(meta("a"), FooBarSpec(target="one")))
        await cluster.settle()
        old = await cluster.client.get(FooBarV1beta1, "a")
        await cluster.client.patch(old, {"spec": {"targetRef": {"name": "two"}}})
        await cluster.settle()
        found = await cluster.client.get(FooBar, "a")
        assert (found.spec.target, found.status.message) == ("two", "applied to ConfigMap 'two'")


def earlier_definition() -> Unstructured:
    """Return the CRD of a release with only the old version."""
    definition = Unstructured(crd_of(FooBar, FooBarV1beta1))
    [version] = [one for one in definition.content["spec"]["versions"] if one["name"] == "v1beta1"]
    definition.content["spec"]["versions"] = [{**version, "storage": True}]
    return definition


async def test_objects_of_an_earlier_release_are_migrated(cluster: Cluster) -> None:
    """Objects are stored again in the new version; then the old one can be removed."""
    await cluster.client.create(ConfigMap(meta("one")))
    await install_definitions(cluster.client, [earlier_definition()])
    await cluster.client.create(FooBarV1beta1(meta("a"), OldSpec(target_ref=TargetRef(name="one"))))
    async with cluster.running(operator):
        await cluster.settle()
        assert (await cluster.client.get(FooBar, "a")).status.status == "ApplySucceed"
        definition = await cluster.client.get(CustomResourceDefinition, "foobars.test.example.com")
        assert definition.status.stored_versions == ["v1beta1", "v1"]
        migration = Migration.of(definition)
        progress = await rewrite(cluster.client, migration.kind, lambda _: None)
        assert progress.refused == {}
        await trim(cluster.client, migration)
        definition = await cluster.client.get(CustomResourceDefinition, "foobars.test.example.com")
        assert definition.status.stored_versions == ["v1"]


async def test_a_conflict_of_crd_names_is_reported_at_once(cluster: Cluster) -> None:
    """A CRD that can never be served is an error, not something to wait for."""
    taken = earlier_definition()
    taken.content["metadata"]["name"] = "others.test.example.com"
    taken.content["spec"]["names"] |= {"plural": "others", "singular": "other"}
    await install_definitions(cluster.client, [taken])
    with pytest.raises(DeclarationError, match="is already in use"):
        await cluster.install(FooBar)
