"""Read your own writes: which writes are waited for, and what ends the wait."""

from steersman.controller.keys.key_state import KeyState
from steersman.controller.keys.write_barrier import Expectations
from steersman.controller.reports.writes import Target, Write
from steersman.informer.store import Store
from steersman.objects.identity import GroupVersionKind, ObjectKey
from tests.controller.conftest import record

GVK = GroupVersionKind("runtime.example.com", "v1", "Widget")
TARGET = Target(GVK, ObjectKey("ns", "a"))


def _start() -> tuple[Store, Expectations, KeyState]:
    return Store(), Expectations(), KeyState(ObjectKey("ns", "owner"))


def test_a_key_waits_until_the_cache_has_the_version_it_wrote() -> None:
    """An older version does not end the wait."""
    store, expectations, owner = _start()
    expectations.expect(owner, TARGET, Write("uid-a", "10"), store)
    assert list(owner.unseen) == [TARGET]
    store.put(record(version="9"))
    assert expectations.observe(TARGET, store) == []
    store.put(record(version="10"))
    assert expectations.observe(TARGET, store) == [owner]
    assert not owner.unseen


def test_a_newer_version_ends_the_wait_as_well() -> None:
    """Another client may have written since."""
    store, expectations, owner = _start()
    expectations.expect(owner, TARGET, Write("uid-a", "10"), store)
    store.put(record(version="100"))
    assert expectations.observe(TARGET, store) == [owner]


def test_a_version_that_the_cache_already_has_is_not_waited_for() -> None:
    """The event may be faster than the answer."""
    store, expectations, owner = _start()
    store.put(record(version="10"))
    expectations.expect(owner, TARGET, Write("uid-a", "10"), store)
    assert not owner.unseen


def test_a_created_and_deleted_object_was_seen() -> None:
    """Its deletion has a later version than its creation."""
    store, expectations, owner = _start()
    store.put(record(version="10"))
    store.remove(record(version="12"))
    expectations.expect(owner, TARGET, Write("uid-a", "10"), store)
    assert not owner.unseen


def test_a_deletion_is_seen_as_absence_or_deletion_timestamp() -> None:
    """Finalizers may keep the object; its deletion was seen nevertheless."""
    store, expectations, owner = _start()
    store.put(record(version="1"))
    expectations.expect(owner, TARGET, Write("uid-a", ""), store)
    assert list(owner.unseen) == [TARGET]
    store.put(record(version="2", deletionTimestamp="2030-01-01T00:00:00Z"))
    assert expectations.observe(TARGET, store) == [owner]


def test_a_relist_without_the_object_ends_the_wait() -> None:
    """A deleted object will never have the version that was written."""
    store, expectations, owner = _start()
    store.put(record(version="1"))
    expectations.expect(owner, TARGET, Write("uid-a", "10"), store)
    store.replace([])
    assert expectations.observe(TARGET, store, deleted_uid="uid-a") == [owner]


def test_all_writes_of_a_run_are_waited_for() -> None:
    """Seeing one does not end the wait for the others."""
    store, expectations, owner = _start()
    other = Target(GVK, ObjectKey("ns", "b"))
    expectations.expect(owner, TARGET, Write("uid-a", "10"), store)
    expectations.expect(owner, other, Write("uid-b", "11"), store)
    store.put(record("a", "10"))
    assert expectations.observe(TARGET, store) == []
    store.put(record("b", "11"))
    assert expectations.observe(other, store) == [owner]


def test_forgetting_a_key_leaves_nothing_behind() -> None:
    """Otherwise memory would grow over years of created and deleted objects."""
    store, expectations, owner = _start()
    expectations.expect(owner, TARGET, Write("uid-a", "10"), store)
    expectations.forget(owner)
    assert len(expectations) == 0
    assert expectations.by_target == {}
