"""References: an index from what objects name to the objects, so that one change costs the same among many."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from steersman.controller.context import Context
from steersman.controller.references import Reference, Referents, referent_keys
from steersman.controller.triggers import WatchedKind
from steersman.kinds.core_v1 import ConfigMap, Namespace, Node, Secret
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.identity import ObjectKey
from steersman.objects.meta import meta
from steersman.objects.resource import resource_of
from steersman.testing.cluster import Cluster
from steersman.testing.failures import Expected
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Refuse
from tests.support.widgets import DEFINITION, Widget, WidgetSpec

OPTIONS = ManagerOptions(definitions=[DEFINITION])
USES = "example.com/uses"


def used(widget: Widget) -> list[str]:
    """Return what a widget names in its annotation."""
    return widget.annotations.get(USES, "").split(",")


def widget_using(name: str, names: str, namespace: str = "default") -> Widget:
    """Return a widget that names other objects."""
    return Widget(meta(name, namespace=namespace, annotations={USES: names}), WidgetSpec())


@asynccontextmanager
async def reconciling(
    cluster: Cluster, *watches: WatchedKind[Widget], expect_failures: Expected = ()
) -> AsyncIterator[list[str]]:
    """Run an operator with these watches; yield the list of the names that it reconciles."""
    operator = Operator("referring")
    runs: list[str] = []

    @operator.reconciler(Widget, watches=watches)
    async def reconcile(widget: Widget, _: Context[Widget]) -> None:
        runs.append(str(widget.key))

    async with cluster.running(operator, options=OPTIONS, expect_failures=expect_failures):
        yield runs


# Names.


@pytest.mark.parametrize(
    ("named", "keys"),
    [
        (None, []),
        ("", []),
        ([], []),
        ("tls", ["ns/tls"]),
        ("other/tls", ["other/tls"]),
        (ObjectKey("other", "tls"), ["other/tls"]),
        (ObjectKey("", "tls"), ["ns/tls"]),
        (["a", None, "", "other/b", ObjectKey("ns", "a")], ["ns/a", "other/b"]),
        ((name for name in ("a", "b")), ["ns/a", "ns/b"]),
    ],
)
def test_names_are_completed_by_the_referrers_namespace(named: Referents, keys: list[str]) -> None:
    """Authors return what the spec has: an optional name, a key or a list with empty entries."""
    assert [str(key) for key in referent_keys(named, resource_of(Secret), "ns")] == keys


def test_a_cluster_scoped_referent_has_no_namespace() -> None:
    """The namespace of the referrer must not be added to the name of a node."""
    assert referent_keys("worker", resource_of(Node), "ns") == [ObjectKey("", "worker")]


@pytest.mark.parametrize(
    ("named", "kind", "namespace", "message"),
    [
        ("a/b/c", Secret, "ns", "not an object key"),
        (7, Secret, "ns", "does not name a Secret"),
        ([b"a"], Secret, "ns", "does not name a Secret"),
        ("ns/worker", Node, "ns", "Node is cluster-scoped"),
        ("tls", Secret, "", "return 'namespace/name'"),
    ],
)
def test_a_name_that_cannot_be_a_referents_is_rejected(
    named: Referents, kind: type[Secret | Node], namespace: str, message: str
) -> None:
    """Otherwise the index has a key that no object can have, and a change finds nothing."""
    with pytest.raises((ValueError, TypeError), match=message):
        referent_keys([named] if isinstance(named, int) else named, resource_of(kind), namespace)


# Changes of referents and referrers.


@pytest.mark.usefixtures("fake_clock")
async def test_a_referent_triggers_only_the_objects_that_name_it(cluster: Cluster) -> None:
    """Also one that is created after its referrers, and one that is deleted."""
    async with reconciling(cluster, Reference(Secret, by=used)) as runs:
        await cluster.client.create(Namespace(meta("elsewhere")))
        for widget in (
            widget_using("one", "tls"),
            widget_using("two", "ca,tls"),
            widget_using("abroad", "default/tls", namespace="elsewhere"),
            widget_using("homonym", "tls", namespace="elsewhere"),
            widget_using("none", ""),
        ):
            await cluster.client.create(widget)
        await cluster.settle()
        runs.clear()
        expected = ["default/one", "default/two", "elsewhere/abroad"]

        secret = await cluster.client.create(Secret(meta("tls")))
        await cluster.settle()
        assert sorted(runs) == expected
        runs.clear()

        secret = await cluster.client.patch(secret, {"metadata": {"labels": {"a": "b"}}})
        await cluster.settle()
        assert sorted(runs) == expected
        runs.clear()

        await cluster.client.delete(secret)
        await cluster.client.create(Secret(meta("other")))
        await cluster.settle()
        assert sorted(runs) == expected


@pytest.mark.usefixtures("fake_clock")
async def test_the_index_follows_the_referrer(cluster: Cluster) -> None:
    """An object that names another one from now on, or that is deleted, must not be found by its old name."""
    async with reconciling(cluster, Reference(ConfigMap, by=used)) as runs:
        old, new = [await cluster.client.create(ConfigMap(meta(name))) for name in ("old", "new")]
        widget = await cluster.client.create(widget_using("a", "old"))
        widget = await cluster.client.patch(widget, {"metadata": {"annotations": {USES: "new"}}})
        await cluster.settle()
        runs.clear()
        await cluster.client.patch(old, {"data": {"a": "1"}})
        await cluster.settle()
        assert runs == []
        new = await cluster.client.patch(new, {"data": {"a": "1"}})
        await cluster.settle()
        assert runs == ["default/a"]
        runs.clear()
        await cluster.client.delete(widget)
        await cluster.settle()
        await cluster.client.patch(new, {"data": {"a": "2"}})
        await cluster.settle()
        assert runs == []


@pytest.mark.usefixtures("fake_clock")
async def test_several_references_of_one_reconciler_have_indexes_of_their_own(cluster: Cluster) -> None:
    """A Secret and a ConfigMap of the same name are different objects, also for the index."""
    watches = (Reference(Secret, by=used), Reference(ConfigMap, by=lambda widget: widget.name))
    async with reconciling(cluster, *watches) as runs:
        await cluster.client.create(widget_using("a", "b"))
        await cluster.client.create(widget_using("b", ""))
        await cluster.settle()
        runs.clear()
        await cluster.client.create(Secret(meta("b")))
        await cluster.settle()
        assert runs == ["default/a"]
        runs.clear()
        await cluster.client.create(ConfigMap(meta("b")))
        await cluster.settle()
        assert runs == ["default/b"]


@pytest.mark.usefixtures("fake_clock")
async def test_a_change_of_a_referent_calls_no_function(cluster: Cluster) -> None:
    """This is what makes it cheap among many objects: the function runs once for each version of a referrer."""
    asked: list[str] = []

    def by(widget: Widget) -> list[str]:
        asked.append(widget.name)
        return used(widget)

    async with reconciling(cluster, Reference(Secret, by=by)) as runs:
        for number in range(20):
            await cluster.client.create(widget_using(f"w{number}", "tls" if number == 7 else "other"))
        await cluster.settle()
        assert len(set(asked)) == 20
        asked.clear()
        runs.clear()
        await cluster.client.create(Secret(meta("tls")))
        await cluster.settle()
        assert (runs, asked) == (["default/w7"], [])


async def test_references_survive_a_new_list(cluster: Cluster, fake_clock: FakeClock) -> None:
    """After an expired watch the cache is replaced, and with it the index: what changed in the gap is found, too."""
    asked: list[str] = []

    def by(widget: Widget) -> list[str]:
        asked.append(widget.name)
        return used(widget)

    async with reconciling(cluster, Reference(Secret, by=by)) as runs:
        moved, gone = [await cluster.client.create(widget_using(name, "tls")) for name in ("moved", "gone")]
        await cluster.client.create(widget_using("same", "tls"))
        await cluster.settle()
        asked.clear()
        cluster.faults.hold("/widgets")
        cluster.faults.inject(Refuse(410, "Expired"), method="GET", path="/widgets.*watch")
        await cluster.client.patch(moved, {"metadata": {"annotations": {USES: "ca"}}})
        await cluster.client.delete(gone)
        await cluster.client.create(widget_using("new", "tls"))
        cluster.faults.drop("/widgets")
        await fake_clock.advance(5)
        await cluster.settle()
        assert set(asked) == {"moved", "new"}, "the function was called again for an object that did not change"
        runs.clear()
        await cluster.client.create(Secret(meta("tls")))
        await cluster.settle()
        assert sorted(runs) == ["default/new", "default/same"]


@pytest.mark.usefixtures("fake_clock")
async def test_a_function_that_fails_is_reported_and_stops_nothing(cluster: Cluster) -> None:
    """The cache, the object itself and the other referrers go on; a test of the author fails by the report."""

    def by(widget: Widget) -> list[str]:
        if widget.name == "broken":
            raise LookupError("no such annotation")
        return used(widget)

    async with reconciling(cluster, Reference(Secret, by=by), expect_failures=LookupError) as runs:
        await cluster.client.create(widget_using("broken", "tls"))
        await cluster.client.create(widget_using("whole", "tls"))
        await cluster.settle()
        assert sorted(runs) == ["default/broken", "default/whole"]
        assert {str(failure.key) for failure in cluster.failures} == {"default/broken"}
        runs.clear()
        await cluster.client.create(Secret(meta("tls")))
        await cluster.settle()
        assert runs == ["default/whole"]
