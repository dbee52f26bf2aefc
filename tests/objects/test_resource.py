from datetime import UTC, datetime

import pytest

from steersman.errors import DeclarationError
from steersman.objects.codec import decode, encode_json
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.meta import ObjectMeta, OwnerReference, meta
from steersman.objects.resource import (
    KubeObject,
    PartialObjectMetadata,
    Unstructured,
    gvk_of,
    parts_with_empty_value,
    resource_of,
)
from tests.objects.boats import Boat, BoatSpec, BoatStatus, Buoy, BuoySpec


def test_metadata_spec_and_status_are_positional() -> None:
    """This is how authors write objects."""
    obj = Boat(meta("a", "ns", labels={"x": "y"}), BoatSpec(length=3), BoatStatus(knots=1))
    assert (obj.name, obj.namespace, obj.key) == ("a", "ns", ObjectKey("ns", "a"))
    assert (obj.labels, obj.spec.length, obj.status.knots) == ({"x": "y"}, 3, 1)


def test_shortcuts_of_an_object_that_was_never_stored_are_empty() -> None:
    """Authors need not check for None first."""
    obj = Buoy(ObjectMeta(generate_name="b-"))
    assert (obj.name, obj.namespace, obj.uid, obj.resource_version, obj.generation) == ("", "", "", "", 0)
    assert not obj.is_deleting
    assert repr(obj) == "<Buoy b-*>"


def test_object_that_is_being_deleted_says_so() -> None:
    """Deletion is a timestamp, not a flag."""
    obj = decode(PartialObjectMetadata, b'{"metadata":{"name":"a","deletionTimestamp":"2026-01-02T03:04:05Z"}}')
    assert obj.is_deleting
    assert obj.metadata.deletion_timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_stored_object_can_own_others() -> None:
    """A child refers to its owner by uid, so that a successor of the same name does not inherit it."""
    owner = Boat(meta("a", uid="u1"), BoatSpec(length=3))
    reference = owner.owner_reference()
    assert encode_json(reference) == (
        b'{"apiVersion":"example.com/v1","kind":"Boat","name":"a","uid":"u1","controller":true,'
        b'"blockOwnerDeletion":true}'
    )
    assert Buoy(meta("b", owner_references=[reference])).controller == reference
    assert owner.owner_reference(controller=False).controller is False


def test_object_without_uid_cannot_own() -> None:
    """A reference without uid would be garbage-collected at once."""
    with pytest.raises(ValueError, match="no uid yet"):
        Boat(meta("a"), BoatSpec(length=3)).owner_reference()


def test_owner_that_is_not_the_controller_is_not_returned() -> None:
    """An object may have several owners, but one controller."""
    plain = OwnerReference(api_version="v1", kind="A", name="a", uid="1")
    assert Buoy(meta("b", owner_references=[plain])).controller is None


def test_only_parts_without_required_fields_have_an_empty_value() -> None:
    """The value of a required field cannot be invented."""
    assert parts_with_empty_value(Boat) == {"status": BoatStatus}
    assert parts_with_empty_value(Buoy) == {"spec": BuoySpec, "status": BoatStatus}


def test_error_for_an_undeclared_class_says_how_to_declare_it() -> None:
    """Authors should not need the manual for that."""

    class Raft(KubeObject):
        pass

    with pytest.raises(DeclarationError, match="custom_resource"):
        resource_of(Raft)


def test_kind_of_object_and_class_are_the_same() -> None:
    """Callers pass either."""
    gvk = GroupVersionKind("example.com", "v1", "Boat")
    assert gvk_of(Boat) == gvk_of(Boat(meta("a"), BoatSpec(length=1))) == gvk
    assert gvk_of(Unstructured.of(gvk, "a")) == gvk


def test_unstructured_object_has_the_same_shortcuts() -> None:
    """Code for any kind reads typed and untyped objects alike."""
    obj = Unstructured.of(GroupVersionKind("apps", "v1", "Deployment"), "a", "ns", spec={"replicas": 1})
    obj.labels["x"] = "y"
    obj.annotations["n"] = "1"
    obj.metadata.update(uid="u", resourceVersion="7", generation=2)
    assert (obj.name, obj.namespace, obj.key) == ("a", "ns", ObjectKey("ns", "a"))
    assert (obj.uid, obj.resource_version, obj.generation, obj.is_deleting) == ("u", "7", 2, False)
    assert obj.content["metadata"]["labels"] == {"x": "y"}
    assert obj.content["spec"] == {"replicas": 1}
    assert repr(obj) == "<Deployment.v1.apps ns/a>"


def test_unstructured_object_may_contain_null() -> None:
    """A handwritten manifest contains ``metadata:`` or ``labels:`` without a value."""
    obj = Unstructured({"apiVersion": "v1", "kind": "A", "metadata": None})
    assert (obj.name, obj.labels) == ("", {})
    obj = Unstructured({"apiVersion": "v1", "kind": "A", "metadata": {"labels": None, "annotations": None}})
    obj.labels["a"] = "b"
    obj.annotations["a"] = "b"
    assert obj.content["metadata"] == {"labels": {"a": "b"}, "annotations": {"a": "b"}}


def test_unstructured_objects_are_equal_by_content() -> None:
    """As typed ones are."""
    gvk = GroupVersionKind("", "v1", "A")
    assert Unstructured.of(gvk, "a") == Unstructured.of(gvk, "a")
    assert Unstructured.of(gvk, "a") != Unstructured.of(gvk, "b")
    assert Unstructured.of(gvk, "a") != "a"


def test_controller_of_an_object_is_compared_by_uid() -> None:
    """An owner that was deleted and created again under its name has no children yet."""
    owner, successor = (Boat(meta("a", uid=uid), BoatSpec(length=3)) for uid in ("u-1", "u-2"))
    child = Buoy(meta("b", owner_references=[owner.owner_reference()]))
    assert child.is_controlled_by(owner)
    assert not child.is_controlled_by(successor)
    assert not Buoy(meta("c", owner_references=[owner.owner_reference(controller=False)])).is_controlled_by(owner)
    assert not Buoy(meta("d")).is_controlled_by(owner)
