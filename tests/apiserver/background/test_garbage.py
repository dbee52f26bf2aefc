import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apiserver.background.controlled_server import (
    CONFIG_MAPS,
    DEFINITIONS,
    ControlledServer,
    Document,
    definition,
)
from tests.support.families import Family, survivors

WIDGETS = "/apis/demo.dev/v1/namespaces/default/widgets"


def owner_of(document: Document, kind: str, api_version: str = "v1") -> Document:
    """Return an owner reference to an object."""
    metadata = document["metadata"]
    return {"apiVersion": api_version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}


async def test_dependents_are_deleted_with_their_last_owner() -> None:
    """This is what garbage collection is for."""
    server = ControlledServer()
    server.config_map("a")
    server.config_map("b")
    server.config_map("d", {"a": False, "b": False})
    server.delete(f"{CONFIG_MAPS}/a")
    await server.settle()
    left = server.get(f"{CONFIG_MAPS}/d")["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in left] == ["b"]
    server.delete(f"{CONFIG_MAPS}/b")
    await server.settle()
    assert server.names() == []


async def test_dependents_stay_if_the_server_runs_no_controllers() -> None:
    """A real kube-controller-manager may be running against this server; the two must not interfere."""
    server = ControlledServer(None)
    server.config_map("a")
    server.config_map("d", {"a": False})
    server.delete(f"{CONFIG_MAPS}/a")
    await server.settle()
    assert server.names() == ["d"]


async def test_owners_in_a_cycle_do_not_wait_for_each_other() -> None:
    """Each blocks the foreground deletion of the other, so one of the two must be unblocked."""
    server = ControlledServer()
    first = server.config_map("a")
    second = server.config_map("b", {"a": True})
    reference = {**owner_of(second, "ConfigMap"), "blockOwnerDeletion": True}
    server.patch(f"{CONFIG_MAPS}/a", {"metadata": {"ownerReferences": [reference]}})
    await server.settle()
    assert first["metadata"]["name"] in server.names()
    server.delete(f"{CONFIG_MAPS}/a", "Foreground")
    await server.settle()
    assert server.names() == []


async def test_an_owner_of_a_kind_that_is_defined_later_is_looked_up_then() -> None:
    """Until the kind is known the owner may exist; deleting on a guess would lose data."""
    server = ControlledServer()
    reference = {"apiVersion": "demo.dev/v1", "kind": "Widget", "name": "w", "uid": "0"}
    server.create(CONFIG_MAPS, {"metadata": {"name": "d", "ownerReferences": [reference]}})
    await server.settle()
    assert server.names() == ["d"]
    server.create(DEFINITIONS, definition("Widget", "widgets"))
    await server.settle()
    assert server.names() == []


async def test_dependents_of_custom_objects_are_deleted_with_the_crd() -> None:
    """The kind is no longer served when the dependents are checked, but the owners are known to be deleted."""
    server = ControlledServer()
    server.create(DEFINITIONS, definition("Widget", "widgets"))
    widget = server.create(WIDGETS, {"apiVersion": "demo.dev/v1", "kind": "Widget", "metadata": {"name": "w"}})
    reference = owner_of(widget, "Widget", "demo.dev/v1")
    server.create(CONFIG_MAPS, {"metadata": {"name": "d", "ownerReferences": [reference]}})
    await server.settle()
    assert server.names() == ["d"]
    server.delete(f"{DEFINITIONS}/widgets.demo.dev")
    await server.settle()
    assert server.names() == []


async def test_an_owner_in_another_namespace_is_ignored() -> None:
    """An owner reference has no namespace, so it can only mean the dependent's own."""
    server = ControlledServer()
    owner = server.create("/api/v1/namespaces/kube-public/configmaps", {"metadata": {"name": "o"}})
    server.create(CONFIG_MAPS, {"metadata": {"name": "d", "ownerReferences": [owner_of(owner, "ConfigMap")]}})
    await server.settle()
    assert server.names() == []


async def test_a_cluster_scoped_object_with_a_namespaced_owner_is_kept() -> None:
    """Such a reference is invalid; Kubernetes keeps the object, too."""
    server = ControlledServer()
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "0"}
    server.create("/api/v1/nodes", {"metadata": {"name": "n", "ownerReferences": [reference]}})
    await server.settle()
    assert server.names("/api/v1/nodes") == ["n"]


async def test_events_are_never_collected() -> None:
    """They expire by age, whether or not the object they name still exists."""
    server = ControlledServer()
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "0"}
    event = {"metadata": {"name": "e", "namespace": "default", "ownerReferences": [reference]}}
    about = {"involvedObject": {"kind": "ConfigMap", "namespace": "default", "name": "gone"}}
    server.create("/api/v1/namespaces/default/events", {**event, **about})
    await server.settle()
    assert server.names("/api/v1/namespaces/default/events") == ["e"]


async def test_a_dependent_that_stops_blocking_releases_its_owner() -> None:
    """The owner waits for the reference, not for the object."""
    server = ControlledServer()
    server.config_map("o")
    server.config_map("d", {"o": True}, finalizers=["a.b/c"])
    server.delete(f"{CONFIG_MAPS}/o", "Foreground")
    await server.settle()
    assert server.has(f"{CONFIG_MAPS}/o")
    server.patch(f"{CONFIG_MAPS}/d", {"metadata": {"ownerReferences": None}})
    await server.settle()
    assert server.names() == ["d"]


async def test_unfinished_garbage_collection_continues_after_a_restore() -> None:
    """A restored snapshot is treated like a restart: what was not finished is finished."""
    server = ControlledServer()
    server.config_map("o")
    server.config_map("d", {"o": False})
    server.delete(f"{CONFIG_MAPS}/o")
    snapshot = server.api.snapshot()
    await server.settle()
    server.api.restore(snapshot)
    assert server.names() == []


async def test_an_owner_restored_from_a_snapshot_keeps_its_dependents() -> None:
    """The collector's cache of deleted owners is not valid for a state before their deletion."""
    server = ControlledServer()
    server.config_map("o")
    server.config_map("d", {"o": False})
    snapshot = server.api.snapshot()
    server.delete(f"{CONFIG_MAPS}/o")
    await server.settle()
    server.api.restore(snapshot)
    server.config_map("e", {"o": False})
    await server.settle()
    assert server.names() == ["d", "e", "o"]


@st.composite
def families(draw: st.DrawFn) -> Family:
    """Generate up to eight objects without cycles."""
    count = draw(st.integers(1, 8))
    owners = tuple(
        draw(st.frozensets(st.integers(0, index - 1), max_size=3)) if index else frozenset() for index in range(count)
    )
    pairs = [(index, owner) for index in range(count) for owner in owners[index]]
    blocking = draw(st.frozensets(st.sampled_from(pairs))) if pairs else frozenset()
    policies = st.sampled_from(["Background", "Foreground", "Orphan"])
    deletes = draw(st.lists(st.tuples(st.integers(0, count - 1), policies), max_size=4))
    return Family(owners, blocking, tuple(deletes))


async def play(family: Family) -> tuple[dict[int, frozenset[int]], int]:
    """Run the deletions on a server; return the remaining objects with their owners, and the last version."""
    server = ControlledServer()
    for index, owners in enumerate(family.owners):
        server.config_map(f"c{index}", {f"c{owner}": (index, owner) in family.blocking for owner in sorted(owners)})
    for target, policy in family.deletes:
        if server.has(f"{CONFIG_MAPS}/c{target}"):
            server.delete(f"{CONFIG_MAPS}/c{target}", policy)
            await server.settle()
    left = {}
    for item in server.get(CONFIG_MAPS)["items"]:
        assert "deletionTimestamp" not in item["metadata"], "no object stays blocked permanently"
        owners = item["metadata"].get("ownerReferences") or []
        left[int(item["metadata"]["name"][1:])] = frozenset(int(owner["name"][1:]) for owner in owners)
    return left, server.api.objects.version


@settings(max_examples=60, deadline=None)
@given(families())
def test_any_family_of_objects_ends_as_the_rule_says(family: Family) -> None:
    """One rule says which objects remain, for all policies and lengths of chains."""
    left, _ = asyncio.run(play(family))
    assert left == survivors(family)


@settings(max_examples=15, deadline=None)
@given(families())
def test_equal_sequences_of_writes_end_equally(family: Family) -> None:
    """Tests with a seed must give the same result on every run, down to the versions."""
    assert asyncio.run(play(family)) == asyncio.run(play(family))
