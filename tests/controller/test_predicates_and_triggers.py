"""Which changes count, which keys they trigger, and how they are described."""

from typing import Any

import pytest

from steersman.controller.predicates import (
    Predicate,
    all_of,
    always,
    any_of,
    generation_changed,
    labels_changed,
    meaningful,
    negate,
    on_objects,
)
from steersman.controller.reports.causes import cause_of, changed_parts
from steersman.controller.triggers import Trigger, to_controller, to_itself, to_mapped
from steersman.history.records import CauseType
from steersman.informer.changes import Added, Deleted, Updated
from steersman.objects.identity import GroupVersionKind, ObjectKey
from tests.controller.conftest import record
from tests.support.widgets import Widget

OWNER = GroupVersionKind("runtime.example.com", "v1", "Widget")


def reference(name: str = "parent", **more: Any) -> dict[str, Any]:
    """Return a controller's owner reference."""
    return {
        "apiVersion": "runtime.example.com/v1",
        "kind": "Widget",
        "name": name,
        "uid": "u",
        "controller": True,
        **more,
    }


@pytest.mark.parametrize(
    ("before", "after", "passes"),
    [
        ({"generation": 1}, {"generation": 1}, False),
        ({"generation": 1}, {"generation": 2}, True),
        ({"generation": 1}, {"generation": 1, "labels": {"a": "b"}}, True),
        ({"generation": 1}, {"generation": 1, "annotations": {"a": "b"}}, True),
        ({"generation": 1}, {"generation": 1, "finalizers": ["f"]}, True),
        ({"generation": 1}, {"generation": 1, "deletionTimestamp": "2030-01-01T00:00:00Z"}, True),
        ({}, {}, True),
    ],
)
def test_by_default_everything_but_a_change_of_the_status_alone_triggers(
    before: dict[str, Any], after: dict[str, Any], *, passes: bool
) -> None:
    """A controller's own status writes do not trigger it; a kind without generations always does."""
    assert meaningful(Updated(record(version="1", **before), record(version="2", **after))) is passes


def test_new_deleted_and_repeated_objects_always_trigger() -> None:
    """A filter of updates must not drop other events."""
    one = record(generation=1)
    assert all(meaningful(change) for change in (Added(one), Deleted(one), Updated(one, one)))


def test_predicates_combine() -> None:
    """Authors build theirs from ours."""
    change = Updated(record(generation=1), record(version="2", generation=1, labels={"a": "b"}))
    assert any_of(generation_changed, labels_changed)(change)
    assert not all_of(generation_changed, labels_changed)(change)
    assert negate(generation_changed)(change)
    assert always(change)


def test_a_predicate_can_use_typed_objects() -> None:
    """Some decisions need the content."""
    grows: Predicate = on_objects(
        Widget, lambda old, new: old is not None and new is not None and new.spec.size > old.spec.size
    )
    small, big = record(spec={"size": 1}), record(version="2", spec={"size": 2})
    assert grows(Updated(small, big))
    assert not grows(Updated(big, small))
    assert not grows(Added(big))
    assert not grows(Deleted(big))


def test_an_owned_object_triggers_its_controller() -> None:
    """By reference, in its own namespace, whatever version the reference names."""
    mapper = to_controller(OWNER, namespaced=True)
    assert mapper(record(ownerReferences=[reference()])) == (ObjectKey("ns", "parent"),)
    assert mapper(record(ownerReferences=[reference(apiVersion="runtime.example.com/v2")])) == (
        ObjectKey("ns", "parent"),
    )
    assert to_controller(OWNER, namespaced=False)(record(ownerReferences=[reference()])) == (ObjectKey("", "parent"),)


@pytest.mark.parametrize("other", [{"controller": False}, {"kind": "Gadget"}, {"apiVersion": "other.example.com/v1"}])
def test_other_owners_are_not_triggered(other: dict[str, Any]) -> None:
    """Only the controller, and only if it is of the reconciled kind."""
    assert to_controller(OWNER, namespaced=True)(record(ownerReferences=[reference(**other)])) == ()


def test_an_object_that_changes_owners_triggers_both() -> None:
    """The former owner has lost a child and must reconcile."""
    trigger = Trigger(Widget, to_controller(OWNER, namespaced=True), always)
    change = Updated(
        record(ownerReferences=[reference("old")]), record(version="2", ownerReferences=[reference("new")])
    )
    assert trigger.keys(change) == [ObjectKey("ns", "new"), ObjectKey("ns", "old")]


def test_mapped_objects_trigger_the_keys_that_the_author_returns() -> None:
    """Keys may be written as text."""
    mapper = to_mapped(Widget, lambda widget: [f"{widget.namespace}/{widget.spec.size}", ObjectKey("x", "y")])
    assert list(mapper(record(spec={"size": 7}))) == [ObjectKey("ns", "7"), ObjectKey("x", "y")]


def test_a_change_that_a_predicate_filters_triggers_nothing() -> None:
    """The predicate comes first."""
    trigger = Trigger(Widget, to_itself)
    assert trigger.keys(Updated(record(generation=1), record(version="2", generation=1))) == []


def test_causes_name_the_object_and_what_changed() -> None:
    """Users ask why; the answer must be short and true."""
    old = record(generation=1)
    new = record(version="2", generation=2, labels={"a": "b"})
    assert str(cause_of(OWNER, Updated(old, new))) == "Widget ns/a changed (spec, labels)"
    assert cause_of(OWNER, Added(old, is_initial=True)).type is CauseType.EXISTS
    assert cause_of(OWNER, Added(old)).type is CauseType.CREATED
    assert cause_of(OWNER, Deleted(old)).type is CauseType.DELETED
    assert cause_of(OWNER, Updated(old, old)).type is CauseType.RESYNC


def test_a_change_in_no_other_part_is_one_of_status_or_content() -> None:
    """A kind without generations may have changed anywhere."""
    assert changed_parts(record(generation=1), record(version="2", generation=1)) == ("status",)
    assert changed_parts(record(), record(version="2")) == ("content",)
