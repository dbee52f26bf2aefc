"""Updates contain what changed and nothing else; fields that the class does not know survive, at any depth."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.client.update_patch import change, change_since_read, document_now, with_change
from steersman.objects.codec import decode, encode_json
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.meta import ObjectMeta
from steersman.objects.model import Model, sparse
from steersman.objects.quantity import Quantity
from steersman.objects.registry import Registry, declare
from steersman.objects.resource import KubeObject, Unstructured
from steersman.protocol.patches import apply_merge_patch


class Part(Model):
    """A part of a gadget; the server knows more fields of it than this class."""

    name: str
    size: int = 0


class Spec(Model):
    """The desired state of a gadget."""

    parts: list[Part] = sparse(list)
    weights: list[int] = sparse(list)
    memory: Quantity | None = None
    note: str | None = None


@declare(
    ApiResource(
        gvk=GroupVersionKind("patch.test", "v1", "Gadget"), plural="gadgets", subresources=frozenset({"status"})
    ),
    Registry(),
)
class Gadget(KubeObject):
    """A kind for these tests."""

    spec: Spec


READ: dict[str, Any] = {
    "apiVersion": "patch.test/v1",
    "kind": "Gadget",
    "metadata": {
        "name": "a",
        "namespace": "n",
        "resourceVersion": "5",
        "labels": {"x": "1"},
        "fromTheFuture": {"a": 1},
    },
    "spec": {
        "parts": [{"name": "p", "size": 1, "secret": "keep"}, {"name": "q", "size": 2, "colour": "red"}],
        "weights": [1, 2],
        "memory": "1024Mi",
        "note": "old",
        "unknown": {"deep": [1]},
    },
    "extra": True,
}


def gadget() -> Gadget:
    """Return a gadget as it was read."""
    return decode(Gadget, encode_json(READ))


def test_unchanged_object_returns_an_empty_patch() -> None:
    """Writing an unchanged object costs the server and wakes every watcher."""
    assert change_since_read(gadget()) == {}


def test_value_in_another_notation_is_unchanged() -> None:
    """The server's ``1024Mi`` is parsed as ``1Gi``: sending that would be an unintended change."""
    obj = gadget()
    obj.spec.note = "new"
    assert change_since_read(obj) == {"spec": {"note": "new"}}


def test_field_set_to_none_is_removed() -> None:
    """``None`` means absent."""
    obj = gadget()
    obj.spec.note = None
    assert change_since_read(obj) == {"spec": {"note": None}}


def test_unknown_fields_inside_list_items_survive() -> None:
    """A list is replaced as a whole, so its items must contain everything they had."""
    obj = gadget()
    obj.spec.parts[1].size = 9
    assert change_since_read(obj) == {
        "spec": {
            "parts": [{"name": "p", "size": 1, "secret": "keep"}, {"name": "q", "size": 9, "colour": "red"}],
        }
    }


def test_items_keep_their_unknown_fields_when_they_move() -> None:
    """Items are matched by their names, not by their positions."""
    obj = gadget()
    obj.spec.parts = [Part(name="new"), obj.spec.parts[1], obj.spec.parts[0]]
    parts = change_since_read(obj)["spec"]["parts"]
    assert parts == [
        {"name": "new", "size": 0},
        {"name": "q", "size": 2, "colour": "red"},
        {"name": "p", "size": 1, "secret": "keep"},
    ]


def test_removed_item_stays_removed() -> None:
    """Unknown fields are kept, unwanted items are not."""
    obj = gadget()
    del obj.spec.parts[0]
    assert change_since_read(obj) == {"spec": {"parts": [{"name": "q", "size": 2, "colour": "red"}]}}


def test_items_without_names_are_matched_by_content_and_position() -> None:
    """Not every list has keys."""
    read = [{"a": 1, "u": "x"}, {"a": 2, "u": "y"}, {"a": 3, "u": "z"}]
    before = [{"a": 1}, {"a": 2}, {"a": 3}]
    assert with_change(read, before, [{"a": 3}, {"a": 5}, {"a": 1}]) == [
        {"a": 3, "u": "z"},
        {"a": 5, "u": "y"},
        {"a": 1, "u": "x"},
    ]
    assert with_change(read, before, [{"a": 2}]) == [{"a": 2, "u": "y"}]


def test_labels_are_patched_one_by_one() -> None:
    """Another writer's label must not be lost."""
    obj = gadget()
    obj.labels["y"] = "2"
    del obj.labels["x"]
    assert change_since_read(obj) == {"metadata": {"labels": {"x": None, "y": "2"}}}


def test_whole_document_contains_fields_that_the_class_does_not_know() -> None:
    """A replacement must be the object, not the class's view of it."""
    obj = gadget()
    obj.spec.weights.append(3)
    expected = deepcopy(READ)
    expected["spec"]["weights"] = [1, 2, 3]
    assert document_now(obj) == expected


def test_object_that_was_not_read_is_an_error_that_says_what_to_do() -> None:
    """There is nothing to compare with, and a guess would overwrite the fields of other writers."""
    with pytest.raises(ValueError, match=r"get it first, or use apply\(\) or replace\(\)"):
        change_since_read(Gadget(ObjectMeta("a"), spec=Spec()))


def test_objects_without_a_class_are_compared_as_they_are() -> None:
    """Their content is the complete document."""
    loose = decode(Unstructured, encode_json(READ))
    loose.content["spec"]["unknown"]["deep"] = [2]
    assert change_since_read(loose) == {"spec": {"unknown": {"deep": [2]}}}


_scalars = st.booleans() | st.integers(0, 5) | st.sampled_from(["a", "b"])
_known, _unknown = st.sampled_from(["name", "k1", "k2"]), st.sampled_from(["u1", "u2"])
_trees = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_known | _unknown, inner, max_size=3),
    max_leaves=10,
)


def view(value: Any) -> Any:
    """Return the document as a class without the fields ``u1`` and ``u2`` shows it."""
    if isinstance(value, dict):
        return {name: view(member) for name, member in value.items() if not name.startswith("u")}
    return [view(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(_known | _unknown, _trees, max_size=4), st.dictionaries(_known, _trees.map(view), max_size=4))
def test_typed_view_of_the_result_is_the_one_the_author_set(read: Any, now: Any) -> None:
    """Whatever is unknown, the author's own fields get exactly the values the author set."""
    assert view(with_change(read, view(read), now)) == now


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(_known | _unknown, _trees, max_size=4))
def test_nothing_is_lost_if_nothing_changed(read: Any) -> None:
    """An author who changes nothing must not delete anything."""
    assert with_change(read, view(read), view(read)) == read


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(_known | _unknown, _trees, max_size=4), st.dictionaries(_known, _trees.map(view), max_size=4))
def test_patch_and_updated_document_agree(read: Any, now: Any) -> None:
    """The patch is the short form of the same change; an independent implementation applies merge patches."""
    patched = apply_merge_patch(read, change(read, view(read), now))
    assert view(patched) == now
    assert patched == with_change(read, view(read), now)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(_known | _unknown, _trees, max_size=4), st.sampled_from(["k1", "k2"]), _scalars)
def test_unknown_fields_beside_a_change_survive(read: Any, name: str, value: Any) -> None:
    """One field was set; every other field is still there after the patch is applied."""
    patched = apply_merge_patch(read, change(read, view(read), {**view(read), name: value}))
    kept = {key: member for key, member in read.items() if key != name}
    assert {key: patched.get(key) for key in kept} == kept


def test_true_is_not_the_number_one() -> None:
    """They are equal in Python, but not for a server."""
    assert change({"a": 1}, {"a": 1}, {"a": True}) == {"a": True}
    assert with_change([True], [True], [1]) == [1]
    assert type(with_change([True], [True], [1])[0]) is int
