"""Two versions of one kind: users of either see the same objects."""

from steersman import meta
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing.cluster import Cluster
from steersman.testing.round_trips import assert_round_trips

from foobar.api.foo_bar_v1 import FooBar, FooBarSpec
from foobar.api.foo_bar_v1beta1 import FooBarSpec as OldSpec
from foobar.api.foo_bar_v1beta1 import FooBarV1beta1, TargetRef
from foobar.main import operator


def test_nothing_gets_lost_between_the_versions() -> None:
    """Whatever an object holds is there again when it comes back."""
    assert_round_trips(FooBar, FooBarV1beta1)


async def test_an_object_of_the_old_version_is_reconciled_and_read_in_both(cluster: Cluster) -> None:
    """The operator knows only the new version, and need not know who wrote the other."""
    await cluster.client.create(ConfigMap(meta("one")))
    async with cluster.running(operator):
        await cluster.client.create(FooBarV1beta1(meta("a"), OldSpec(target_ref=TargetRef(name="one"), type="big")))
        await cluster.settle()
        new = await cluster.client.get(FooBar, "a")
        assert new.spec == FooBarSpec(target="one", type="big")
        old = await cluster.client.get(FooBarV1beta1, "a")
        assert (old.spec.target_ref.name, old.status.status) == ("one", "ApplySucceed")


async def test_a_change_in_the_old_version_moves_the_target(cluster: Cluster) -> None:
    """Whoever has not migrated yet can still change things."""
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


async def test_objects_are_stored_in_the_new_version(cluster: Cluster) -> None:
    """The old one can be taken away when nobody uses it any more."""
    async with cluster.running(operator):
        definition = await cluster.client.get(CustomResourceDefinition, "foobars.test.example.com")
    assert definition.status is not None
    assert definition.status.stored_versions == ["v1"]
