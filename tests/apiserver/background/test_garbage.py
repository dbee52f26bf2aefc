import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apiserver.background.kept import CONFIG_MAPS, DEFINITIONS, Document, Kept, definition
from tests.support.families import Family, survivors

WIDGETS = "/apis/demo.dev/v1/namespaces/default/widgets"


def owner_of(document: Document, kind: str, api_version: str = "v1") -> Document:
    """Give a reference to an object."""
    metadata = document["metadata"]
    return {"apiVersion": api_version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}


async def test_dependents_go_with_their_last_owner() -> None:
    """This is what garbage collection is for."""
    kept = Kept()
    kept.config_map("a")
    kept.config_map("b")
    kept.config_map("d", {"a": False, "b": False})
    kept.delete(f"{CONFIG_MAPS}/a")
    await kept.settle()
    left = kept.get(f"{CONFIG_MAPS}/d")["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in left] == ["b"]
    kept.delete(f"{CONFIG_MAPS}/b")
    await kept.settle()
    assert kept.names() == []


async def test_without_controllers_dependents_stay() -> None:
    """A real kube-controller-manager may be at work on this server: the two must not interfere."""
    kept = Kept(None)
    kept.config_map("a")
    kept.config_map("d", {"a": False})
    kept.delete(f"{CONFIG_MAPS}/a")
    await kept.settle()
    assert kept.names() == ["d"]


async def test_owners_in_a_circle_do_not_wait_for_one_another() -> None:
    """Each blocks the other in the foreground: one must be told not to."""
    kept = Kept()
    first = kept.config_map("a")
    second = kept.config_map("b", {"a": True})
    reference = {**owner_of(second, "ConfigMap"), "blockOwnerDeletion": True}
    kept.patch(f"{CONFIG_MAPS}/a", {"metadata": {"ownerReferences": [reference]}})
    await kept.settle()
    assert first["metadata"]["name"] in kept.names()
    kept.delete(f"{CONFIG_MAPS}/a", "Foreground")
    await kept.settle()
    assert kept.names() == []


async def test_an_owner_of_a_kind_that_is_defined_later_is_looked_up_then() -> None:
    """Whether it is gone cannot be told before; deleting on a guess would lose data."""
    kept = Kept()
    reference = {"apiVersion": "demo.dev/v1", "kind": "Widget", "name": "w", "uid": "0"}
    kept.create(CONFIG_MAPS, {"metadata": {"name": "d", "ownerReferences": [reference]}})
    await kept.settle()
    assert kept.names() == ["d"]
    kept.create(DEFINITIONS, definition("Widget", "widgets"))
    await kept.settle()
    assert kept.names() == []


async def test_what_custom_objects_owned_goes_with_their_definition() -> None:
    """The kind is no longer served when the dependents are looked at, but the owners are known to be gone."""
    kept = Kept()
    kept.create(DEFINITIONS, definition("Widget", "widgets"))
    widget = kept.create(WIDGETS, {"apiVersion": "demo.dev/v1", "kind": "Widget", "metadata": {"name": "w"}})
    reference = owner_of(widget, "Widget", "demo.dev/v1")
    kept.create(CONFIG_MAPS, {"metadata": {"name": "d", "ownerReferences": [reference]}})
    await kept.settle()
    assert kept.names() == ["d"]
    kept.delete(f"{DEFINITIONS}/widgets.demo.dev")
    await kept.settle()
    assert kept.names() == []


async def test_an_owner_in_another_namespace_does_not_count() -> None:
    """References name no namespace: they can only mean the dependent's own."""
    kept = Kept()
    owner = kept.create("/api/v1/namespaces/kube-public/configmaps", {"metadata": {"name": "o"}})
    kept.create(CONFIG_MAPS, {"metadata": {"name": "d", "ownerReferences": [owner_of(owner, "ConfigMap")]}})
    await kept.settle()
    assert kept.names() == []


async def test_a_cluster_scoped_object_is_not_lost_to_a_namespaced_owner() -> None:
    """Such a reference makes no sense; Kubernetes leaves the object alone, too."""
    kept = Kept()
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "0"}
    kept.create("/api/v1/nodes", {"metadata": {"name": "n", "ownerReferences": [reference]}})
    await kept.settle()
    assert kept.names("/api/v1/nodes") == ["n"]


async def test_events_are_never_collected() -> None:
    """They live for a while, whatever becomes of what they name."""
    kept = Kept()
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "0"}
    event = {"metadata": {"name": "e", "namespace": "default", "ownerReferences": [reference]}}
    about = {"involvedObject": {"kind": "ConfigMap", "namespace": "default", "name": "gone"}}
    kept.create("/api/v1/namespaces/default/events", {**event, **about})
    await kept.settle()
    assert kept.names("/api/v1/namespaces/default/events") == ["e"]


async def test_a_dependent_that_stops_blocking_lets_its_owner_go() -> None:
    """The owner waits for the reference, not for the object."""
    kept = Kept()
    kept.config_map("o")
    kept.config_map("d", {"o": True}, finalizers=["a.b/c"])
    kept.delete(f"{CONFIG_MAPS}/o", "Foreground")
    await kept.settle()
    assert kept.has(f"{CONFIG_MAPS}/o")
    kept.patch(f"{CONFIG_MAPS}/d", {"metadata": {"ownerReferences": None}})
    await kept.settle()
    assert kept.names() == ["d"]


async def test_what_was_left_undone_is_done_at_the_next_start() -> None:
    """A snapshot of an unfinished collection is finished when it is restored, as after a restart."""
    kept = Kept()
    kept.config_map("o")
    kept.config_map("d", {"o": False})
    kept.delete(f"{CONFIG_MAPS}/o")
    snapshot = kept.server.snapshot()
    await kept.settle()
    kept.server.restore(snapshot)
    assert kept.names() == []


async def test_an_owner_that_a_snapshot_brings_back_keeps_its_dependents() -> None:
    """What the collector knows of deleted owners is not true of the state before their deletion."""
    kept = Kept()
    kept.config_map("o")
    kept.config_map("d", {"o": False})
    snapshot = kept.server.snapshot()
    kept.delete(f"{CONFIG_MAPS}/o")
    await kept.settle()
    kept.server.restore(snapshot)
    kept.config_map("e", {"o": False})
    await kept.settle()
    assert kept.names() == ["d", "e", "o"]


@st.composite
def families(draw: st.DrawFn) -> Family:
    """Draw up to eight objects without circles."""
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
    """Let a server do it: what is left with its owners, and the last version."""
    kept = Kept()
    for index, owners in enumerate(family.owners):
        kept.config_map(f"c{index}", {f"c{owner}": (index, owner) in family.blocking for owner in sorted(owners)})
    for target, policy in family.deletes:
        if kept.has(f"{CONFIG_MAPS}/c{target}"):
            kept.delete(f"{CONFIG_MAPS}/c{target}", policy)
            await kept.settle()
    left = {}
    for item in kept.get(CONFIG_MAPS)["items"]:
        assert "deletionTimestamp" not in item["metadata"], "nothing holds an object back for ever"
        owners = item["metadata"].get("ownerReferences") or []
        left[int(item["metadata"]["name"][1:])] = frozenset(int(owner["name"][1:]) for owner in owners)
    return left, kept.server.objects.version


@settings(max_examples=60, deadline=None)
@given(families())
def test_any_family_ends_as_the_rule_says(family: Family) -> None:
    """One sentence describes what must be left, whatever the policies, and how long the chains."""
    left, _ = asyncio.run(play(family))
    assert left == survivors(family)


@settings(max_examples=15, deadline=None)
@given(families())
def test_equal_histories_end_equally(family: Family) -> None:
    """Tests with a seed must give the same result on every run, down to the versions."""
    assert asyncio.run(play(family)) == asyncio.run(play(family))
