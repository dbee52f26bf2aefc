"""The store: changes, staleness, replacement, indexes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.informer.changes import Added, Change, Deleted, Updated
from steersman.informer.index import by_controller, by_label, by_namespace, by_owner
from steersman.informer.record import Record, RecordReader
from steersman.informer.store import Store, is_newer
from steersman.objects.identity import GroupVersionKind, ObjectKey
from tests.informer.conftest import document, wire

READER = RecordReader(GroupVersionKind("example.com", "v1", "Widget"))


def record(name: str = "a", version: str = "1", **more: Any) -> Record:
    """Create a record as a reflector does."""
    return READER.read(wire(document(name, version, **more)))


def test_a_new_object_is_added_and_a_newer_version_updates_it() -> None:
    """The normal sequence."""
    store = Store()
    first, second = record(version="1"), record(version="2")
    assert store.put(first) == [Added(first)]
    assert store.put(second) == [Updated(first, second)]
    assert store.get(ObjectKey("ns", "a")) is second


@pytest.mark.parametrize("late", ["9", "10"])
def test_a_duplicate_or_late_event_changes_nothing(late: str) -> None:
    """The version of a cached object never decreases: 9 is older than 10."""
    store = Store()
    store.put(record(version="10"))
    assert store.put(record(version=late)) == []


def test_the_same_name_with_another_uid_is_a_deletion_and_an_addition() -> None:
    """Code that stores state by uid must see the deletion of the old object."""
    store = Store()
    old, new = record(version="1"), record(version="2", uid="other")
    store.put(old)
    assert store.put(new) == [Deleted(old, was_observed=False), Added(new)]


def test_a_deletion_has_its_own_version() -> None:
    """DELETED has a version above the last one seen: expectations wait for it."""
    store = Store()
    store.put(record(version="1"))
    gone = record(version="5")
    assert store.remove(gone) == [Deleted(gone)]
    assert len(store) == 0


def test_a_deleted_object_is_not_restored_by_a_late_event() -> None:
    """That is the most common bug of caches."""
    store = Store()
    store.put(record(version="1"))
    store.remove(record(version="5"))
    assert store.put(record(version="3")) == []
    assert len(store) == 0


def test_an_object_that_is_selected_again_is_added_again() -> None:
    """With a selector, DELETED may only mean that the object no longer matches."""
    store = Store()
    store.put(record(version="1"))
    store.remove(record(version="5"))
    back = record(version="6")
    assert store.put(back) == [Added(back)]


def test_a_late_deletion_of_the_former_object_keeps_the_new_one() -> None:
    """The uid decides, not the name."""
    store = Store()
    successor = record(version="9", uid="other")
    store.put(successor)
    assert store.remove(record(version="5")) == []
    assert store.get(ObjectKey("ns", "a")) is successor


def test_replace_finds_deletions_additions_and_changes() -> None:
    """After a gap the whole difference is delivered, deletions first."""
    store = Store()
    a, b, c = record("a"), record("b"), record("c")
    for known in (a, b, c):
        store.put(known)
    new_b, new_c, d = record("b", "7"), record("c", "8", uid="other"), record("d", "9")
    assert store.replace([new_b, new_c, d]) == [
        Deleted(a, was_observed=False),
        Deleted(c, was_observed=False),
        Updated(b, new_b),
        Added(new_c),
        Added(d),
    ]


def test_replace_with_the_same_list_changes_nothing() -> None:
    """A relist without a change delivers nothing."""
    store = Store()
    store.replace([record("a"), record("b")])
    assert store.replace([record("b"), record("a")]) == []


def test_replace_is_atomic_for_readers() -> None:
    """A reader that started before keeps a consistent state."""
    store = Store({"namespace": by_namespace})
    store.replace([record("a"), record("b")])
    seen = store.records()
    store.replace([record("c")])
    assert [kept.key.name for kept in seen] == ["a", "b"]
    assert [kept.key.name for kept in store.by_index("namespace", "ns")] == ["c"]


def test_indexes_find_by_namespace_label_owner_and_controller() -> None:
    """Common queries need no scan."""
    store = Store({"ns": by_namespace, "app": by_label("app"), "owner": by_owner, "controller": by_controller})
    owners = [{"uid": "u1", "controller": True}, {"uid": "u2"}]
    store.put(record("a", labels={"app": "web"}, ownerReferences=owners))
    store.put(record("b", labels={}))

    def names(index: str, value: str) -> list[str]:
        return [found.key.name for found in store.by_index(index, value)]

    assert names("ns", "ns") == ["a", "b"]
    assert names("app", "web") == ["a"]
    assert names("owner", "u2") == ["a"]
    assert names("controller", "u1") == ["a"]
    assert names("controller", "u2") == []


def test_an_index_follows_changes_and_drops_empty_values() -> None:
    """A value that no object has any more costs nothing."""
    store = Store({"app": by_label("app")})
    store.put(record("a", "1", labels={"app": "web"}))
    store.put(record("a", "2", labels={"app": "db"}))
    assert store.index_values("app") == ["db"]
    store.put(record("a", "3"))
    assert store.index_values("app") == []


def test_an_index_added_later_contains_existing_objects() -> None:
    """Controllers join a running informer."""
    store = Store()
    store.put(record("a", labels={"app": "web"}))
    store.add_index("app", by_label("app"))
    assert len(store.by_index("app", "web")) == 1
    with pytest.raises(ValueError, match="already"):
        store.add_index("app", by_label("app"))


def test_an_unknown_index_is_an_error_that_lists_the_known_ones() -> None:
    """A typo must not look like an empty result."""
    with pytest.raises(KeyError, match="namespace"):
        Store({"namespace": by_namespace}).by_index("namespaces", "x")


def test_versions_that_are_not_numbers_are_only_compared_for_equality() -> None:
    """Some aggregated servers use other versions."""
    assert not is_newer("abc", "abc")
    assert is_newer("abc", "abd")
    assert is_newer("100000000000000000000", "99999999999999999999")


EVENTS = st.lists(
    st.tuples(st.sampled_from(["put", "remove", "replace"]), st.sampled_from("ab"), st.integers(1, 2)), max_size=25
)


def _follow(mirror: dict[ObjectKey, Record], change: Change) -> None:
    match change:
        case Added(added):
            assert added.key not in mirror
            mirror[added.key] = added
        case Updated(old, updated):
            assert mirror[old.key] is old
            assert old.uid == updated.uid
            mirror[old.key] = updated
        case Deleted(gone):
            assert mirror.pop(gone.key).uid == gone.uid


@settings(max_examples=150)
@given(EVENTS)
def test_changes_rebuild_the_store_and_indexes_agree(events: list[tuple[str, str, int]]) -> None:
    """Applying the changes in order yields the store's content; uids never mix; indexes never differ from it."""
    store = Store({"owner": by_owner})
    mirror: dict[ObjectKey, Record] = {}
    for version, (what, name, incarnation) in enumerate(events, start=1):
        new = record(name, str(10**version), uid=f"{name}{incarnation}", ownerReferences=[{"uid": f"o{version % 2}"}])
        act = {"put": store.put, "remove": store.remove, "replace": lambda new: store.replace([new])}[what]
        for change in act(new):
            _follow(mirror, change)
    assert {kept.key: kept for kept in store.records()} == mirror
    assert store.bytes == sum(len(kept.data) for kept in mirror.values())
    for owner in ("o0", "o1"):
        expected = {kept.key for kept in mirror.values() if kept.owners[0].uid == owner}
        assert {kept.key for kept in store.by_index("owner", owner)} == expected
