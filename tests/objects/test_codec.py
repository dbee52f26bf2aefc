import json
from copy import copy, deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.errors import DecodeError
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap, Pod, Secret
from steersman.objects.codec import (
    bytes_read,
    decode,
    decode_as,
    decode_json,
    decode_list,
    encode,
    encode_json,
    from_json,
    to_json,
)
from steersman.objects.meta import ListMeta, meta
from steersman.objects.resource import Unstructured
from tests.objects.boats import Boat, BoatSpec, BoatStatus, Buoy, BuoySpec

DEEP = b"[" * 100_000 + b"]" * 100_000


def boat(**more: Any) -> bytes:
    """Return a boat as a server encodes it, with additional fields."""
    return json.dumps({"metadata": {"name": "a"}, "spec": {"length": 12}, **more}).encode()


def test_kind_comes_first_in_the_document() -> None:
    """Users and servers look for apiVersion and kind first."""
    assert encode(ConfigMap(meta("a"), data={"k": "v"})) == (
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}'
    )


def test_absent_status_is_empty_and_not_sent() -> None:
    """A reconciler sets fields of a status that was never written; until it does, nothing is sent."""
    obj = decode(Boat, boat())
    assert obj.status.position is None
    assert obj.status.conditions == []
    assert "status" not in to_json(obj)


def test_status_is_sent_once_a_field_is_set() -> None:
    """Changing the placeholder makes it a real status."""
    obj = decode(Boat, boat())
    obj.status.position = "51N"
    assert to_json(obj)["status"] == {"position": "51N", "knots": 0}


def test_empty_status_stays_empty_and_present() -> None:
    """An empty object and no object are different; decoding and encoding keep the difference."""
    assert to_json(decode(Boat, boat(status={})))["status"] == {"knots": 0}


def test_part_that_the_author_set_is_sent_even_if_it_is_empty() -> None:
    """Values that the author sets are always sent."""
    assert to_json(Buoy(meta("a"), BuoySpec(colour="red")))["spec"] == {"colour": "red"}
    assert to_json(Buoy(meta("a"), status=BoatStatus()))["status"] == {"knots": 0}
    assert set(to_json(Buoy(meta("a")))) == {"apiVersion", "kind", "metadata"}


def test_status_that_was_set_to_none_is_not_sent() -> None:
    """None is never sent, at any place."""
    obj = Boat(meta("a"), BoatSpec(length=1), BoatStatus(knots=3))
    obj.status = None  # type: ignore[assignment] # what an author might do to clear it
    assert "status" not in to_json(obj)


def test_encoding_does_not_change_the_object() -> None:
    """Leaving out the placeholder affects the bytes, not the object."""
    obj = Boat(meta("a"), BoatSpec(length=1))
    encode(obj)
    assert obj.status.knots == 0


def test_required_spec_must_be_present() -> None:
    """Without its spec it is not an object of that kind."""
    with pytest.raises(DecodeError, match="not a Boat"):
        decode(Boat, b'{"metadata":{"name":"a"}}')
    with pytest.raises(ValueError, match="has no spec"):
        Boat(meta("a"))


def test_decoded_object_keeps_its_bytes_and_a_new_one_has_none() -> None:
    """An update sends what changed since the object was read."""
    data = boat(unknown={"x": [1]})
    obj = decode(Boat, data)
    obj.spec.length = 99
    assert bytes_read(obj) is data
    assert bytes_read(Boat(meta("a"), BoatSpec(length=1))) is None


@pytest.mark.parametrize("duplicated", [copy, deepcopy])
def test_python_copies_keep_bytes_and_placeholders(duplicated: Any) -> None:
    """Users copy objects like any other."""
    duplicate = duplicated(decode(Buoy, b'{"metadata":{"name":"a"}}'))
    assert bytes_read(duplicate) == b'{"metadata":{"name":"a"}}'
    assert set(to_json(duplicate)) == {"apiVersion", "kind", "metadata"}
    duplicate.status.knots = 3
    assert to_json(duplicate)["status"] == {"knots": 3}


def test_deep_copy_is_independent() -> None:
    """Nothing inside is shared."""
    original = decode(Boat, boat(status={"knots": 1}))
    duplicate = deepcopy(original)
    duplicate.spec.crew.append("x")
    duplicate.status.knots = 2
    duplicate.labels["a"] = "b"
    assert (original.spec.crew, original.status.knots, original.labels) == ([], 1, {})


def test_binary_data_is_base64_on_the_wire() -> None:
    """A Secret's values are bytes for its user."""
    secret = decode(Secret, b'{"metadata":{"name":"a"},"data":{"k":"aGk="}}')
    assert secret.data == {"k": b"hi"}
    assert to_json(secret)["data"] == {"k": "aGk="}


def test_secret_does_not_show_its_content() -> None:
    """Objects end up in logs and tracebacks."""
    assert repr(Secret(meta("a", "ns"), data={"k": b"canary"})) == "<Secret ns/a>"


def test_document_and_object_convert_into_each_other() -> None:
    """Manifests come as documents."""
    document = {"metadata": {"name": "a"}, "spec": {"length": 3, "sails": 1, "clusterIP": "x", "cargo": []}}
    obj = from_json(Boat, document)
    assert obj.spec.cluster_ip == "x"
    assert to_json(obj) == {"apiVersion": "example.com/v1", "kind": "Boat", **document}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b'{"spec":{"length":"x"}}',
        b'{"metadata":{"name":1}}',
        b"\xff\xfe",
        b'{"a":"\xff"}',
        DEEP,
    ],
)
def test_bytes_of_another_object_raise_a_decode_error(data: bytes) -> None:
    """Whatever a server sends, the caller catches DecodeError."""
    with pytest.raises(DecodeError):
        decode(Boat, data)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"resourceVersion":1}', b'{"continue":"\xff"}', DEEP])
def test_bytes_of_another_part_raise_a_decode_error(data: bytes) -> None:
    """The same holds for parts of an object."""
    with pytest.raises(DecodeError):
        decode_as(ListMeta, data)


@pytest.mark.parametrize(
    "field",
    ['"limits":{"cpu":true}', '"limits":{"cpu":[]}', '"limits":{"cpu":"x"}', '"limits":{"cpu":1e999}', '"requests":3'],
)
def test_invalid_quantity_raises_a_decode_error(field: str) -> None:
    """Our types fail like msgspec's own."""
    data = f'{{"spec":{{"containers":[{{"name":"c","resources":{{{field}}}}}]}}}}'.encode()
    with pytest.raises(DecodeError, match="not a Pod"):
        decode(Pod, data)


@pytest.mark.parametrize("moment", ["3", '"x"', "true", '"2026-01-02T03:04:05"'])
def test_invalid_time_raises_a_decode_error(moment: str) -> None:
    """The same holds for times with microseconds."""
    with pytest.raises(DecodeError, match="not a Lease"):
        decode(Lease, f'{{"spec":{{"renewTime":{moment}}}}}'.encode())


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"nul", DEEP])
def test_invalid_json_raises_a_decode_error(data: bytes) -> None:
    """The same holds where any document is accepted."""
    with pytest.raises(DecodeError):
        decode_json(data)


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"kind":"A"}', b'{"kind":1,"apiVersion":"v1"}', b"{"])
def test_object_without_a_class_needs_its_kind(data: bytes) -> None:
    """Without apiVersion and kind its path is unknown."""
    with pytest.raises(DecodeError):
        decode(Unstructured, data)


def test_value_without_a_json_form_is_rejected() -> None:
    """A mistake in a program is a TypeError, not an odd document."""
    with pytest.raises((TypeError, NotImplementedError)):
        encode_json(object())


def test_list_has_a_version_and_objects_with_their_own_bytes() -> None:
    """Each item can be updated separately."""
    data = (
        b'{"kind":"BoatList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7","continue":"x"},'
        b'"items":[{"metadata":{"name":"a"},"spec":{"length":1},"more":1}]}'
    )
    boats = decode_list(Boat, data)
    assert (boats.resource_version, boats.continue_token) == ("7", "x")
    assert [one.name for one in boats.items] == ["a"]
    assert bytes_read(boats.items[0]) == b'{"metadata":{"name":"a"},"spec":{"length":1},"more":1}'


@pytest.mark.parametrize("data", [b'{"metadata":{},"items":null}', b'{"metadata":{}}', b'{"items":[]}'])
def test_empty_list_may_be_null(data: bytes) -> None:
    """Go writes an empty list as null."""
    boats = decode_list(Boat, data)
    assert boats.items == []
    assert (boats.resource_version, boats.continue_token) == ("", "")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
unknown_fields = st.dictionaries(st.text(max_size=6).map(lambda name: f"x-{name}"), json_values, max_size=4)


@settings(max_examples=60)
@given(unknown_fields, unknown_fields, st.integers(0, 9), st.lists(st.text(max_size=5), max_size=3))
def test_round_trip_keeps_known_fields_in_the_object_and_unknown_ones_in_the_bytes(
    outer: dict[str, Any], inner: dict[str, Any], length: int, crew: list[str]
) -> None:
    """An update sends what changed compared with these bytes, so no unknown field is lost."""
    document = {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": "a", **inner},
        "spec": {"length": length, "crew": crew, **inner},
        **outer,
    }
    obj = decode(Boat, encode_json(document))
    assert (obj.spec.length, obj.spec.crew) == (length, crew)
    assert decode_json(bytes_read(obj) or b"") == document
    assert decode(Boat, encode(obj)) == obj
    assert not any(name.startswith("x-") for name in to_json(obj))
