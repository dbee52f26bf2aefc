"""Records: what is stored of an object, and that removing managedFields from the bytes removes nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.errors import DecodeError
from steersman.informer.record import RecordReader
from steersman.objects.identity import GroupVersionKind, ObjectKey
from tests.informer.conftest import document, wire

GVK = GroupVersionKind("example.com", "v1", "Widget")
MANAGED = [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:n": {}, 'k:{"a":"}]"}': {}}}}]


def test_indexed_fields_are_available_without_decoding() -> None:
    """Queues, indexes and predicates work on records alone."""
    owner = {"apiVersion": "v1", "kind": "A", "name": "x", "uid": "u", "controller": True}
    record = RecordReader(GVK).read(
        wire(
            document(
                "a",
                "7",
                generation=3,
                labels={"app": "web"},
                ownerReferences=[owner],
                finalizers=["f"],
                deletionTimestamp="2026-01-01T00:00:00Z",
            )
        )
    )
    assert record.key == ObjectKey("ns", "a")
    assert (record.uid, record.resource_version, record.generation) == ("uid-a", "7", 3)
    assert dict(record.labels) == {"app": "web"}
    assert record.controller is not None
    assert (record.controller.uid, record.controller.name) == ("u", "x")
    assert record.finalizers == ("f",)
    assert record.is_deleting


@pytest.mark.parametrize("place", ["first", "middle", "last", "only"])
def test_managed_fields_are_removed_at_any_position(place: str) -> None:
    """Servers order metadata differently."""
    rest: dict[str, Any] = {"name": "a", "namespace": "ns", "resourceVersion": "1"}
    metadata = {
        "first": {"managedFields": MANAGED, **rest},
        "middle": {"name": "a", "managedFields": MANAGED, "namespace": "ns", "resourceVersion": "1"},
        "last": {**rest, "managedFields": MANAGED},
        "only": {"managedFields": MANAGED},
    }[place]
    whole = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"n": 1}}
    kept = json.loads(RecordReader(GVK).read(wire(whole)).data)
    del metadata["managedFields"]
    assert kept == whole


def test_only_the_objects_own_managed_fields_are_removed() -> None:
    """An object that contains another object, or the word in a text, keeps those."""
    text = '{"managedFields":[]},"managedFields":'
    for inner in ({"managedFields": MANAGED}, {"note": text}, {"managedFields": "text"}):
        whole = document(managedFields=MANAGED, annotations={"a": text}, spec={"template": {"metadata": inner}})
        kept = json.loads(RecordReader(GVK).read(wire(whole)).data)
        del whole["metadata"]["managedFields"]
        assert kept == whole


def test_an_object_in_any_formatting_is_parsed() -> None:
    """A server that sends spaces is slower, not wrong."""
    whole = document(managedFields=MANAGED)
    kept = json.loads(RecordReader(GVK).read(json.dumps(whole, indent=2).encode()).data)
    del whole["metadata"]["managedFields"]
    assert kept == whole


def test_items_of_a_list_get_their_kind() -> None:
    """Lists of built-in kinds contain the kind once; a cached object must have its own."""
    record = RecordReader(GVK).read(b'{"metadata":{"name":"a"}}')
    assert json.loads(record.data) == {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}


def test_records_share_equal_labels() -> None:
    """Thousands of pods with the same labels store them once."""
    reader = RecordReader(GVK)
    first, second = (reader.read(wire(document(name, labels={"app": "web"}))) for name in "ab")
    assert first.labels is second.labels


def test_a_transform_drops_parts_of_the_object() -> None:
    """Users decide which parts they need."""

    def without_spec(whole: dict[str, Any]) -> dict[str, Any]:
        whole.pop("spec", None)
        return whole

    record = RecordReader(GVK, transform=without_spec).read(wire(document()))
    assert "spec" not in json.loads(record.data)


@pytest.mark.parametrize("bad", [b"", b"[]", b"{}", b'{"metadata":{"name":1}}', b'{"metadata":{"name":"a"}', b"\xff"])
def test_bytes_that_are_not_an_object_are_rejected(bad: bytes) -> None:
    """The parser raises one type of error for any input."""
    with pytest.raises(DecodeError):
        RecordReader(GVK).read(bad)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", '"managedFields":', "x\\", '"', "é"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["managedFields", "metadata", "a", '"managedFields":']), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=200)
@given(spec=JSON, managed=JSON, before=JSON, spaced=st.booleans(), spec_first=st.booleans())
def test_removing_from_bytes_equals_decoding_and_deleting(
    *, spec: Any, managed: Any, before: Any, spaced: bool, spec_first: bool
) -> None:
    """The fast path must never differ from the general one."""
    metadata = {"annotations": {"x": json.dumps(before)}, "managedFields": managed, "name": "a"}
    whole = {"kind": "Widget", "metadata": metadata, "spec": spec}
    if spec_first:
        whole = {"spec": spec, "kind": "Widget", "metadata": metadata}
    text = json.dumps(whole) if spaced else json.dumps(whole, separators=(",", ":"))
    kept = json.loads(RecordReader(GVK).read(text.encode()).data)
    del metadata["managedFields"]
    assert kept == whole
