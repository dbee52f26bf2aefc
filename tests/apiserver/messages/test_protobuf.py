"""The decoder of protobuf bodies, tested with bodies of kubectl, handwritten bytes, a small encoder and noise."""

import base64
import json
import lzma
import struct
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apiserver.messages import protobuf
from steersman.errors import DecodeError

_RECORDED = Path(__file__).parents[2] / "golden" / "kubectl.jsonl.xz"


def varint(number: int) -> bytes:
    """Encode a number."""
    number &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, value: bytes | str | float) -> bytes:
    """Encode one field."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    """Encode a whole body."""
    return protobuf.MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


@cache
def recorded_exchanges() -> list[dict[str, Any]]:
    """Return the recorded requests of kubectl that have a protobuf body."""
    with lzma.open(_RECORDED, "rt") as lines:
        return [one for one in map(json.loads, lines) if one.get("request_base64")]


def test_bodies_of_real_kubectl_are_decoded() -> None:
    """Typed Go clients send nothing else."""
    found = {}
    for one in recorded_exchanges():
        obj = protobuf.decode(base64.b64decode(one["request_base64"]))
        found[one["label"]] = obj
    assert len(found) > 10
    assert found["create secret generic s1 --from-literal=p=q"] == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s1"},
        "data": {"p": "cQ=="},
    }
    deployment = found["create deployment d0 --image=nginx --replicas=0"]
    assert deployment["spec"]["replicas"] == 0
    assert deployment["spec"]["template"]["spec"]["containers"] == [
        {"name": "nginx", "image": "nginx", "resources": {}}
    ]
    assert found["create role r1 --verb=get --resource=pods"]["rules"] == [
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    ]


def test_answers_of_a_real_server_are_decoded() -> None:
    """They contain what requests seldom do: times, managed fields, nested JSON."""
    answers = [
        protobuf.decode(base64.b64decode(one["response_base64"]))
        for one in recorded_exchanges()
        if base64.b64decode(one["response_base64"]).startswith(protobuf.MAGIC)
    ]
    secret = next(answer for answer in answers if answer["kind"] == "Secret")
    assert secret["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {".": {}, "f:p": {}}, "f:type": {}}
    assert secret["metadata"]["creationTimestamp"] == "2026-11-15T20:00:26Z"


def test_delete_options_belong_to_every_group() -> None:
    """Clients send them in the version of the resource or in meta/v1."""
    raw = field(1, 0) + field(2, field(1, "u")) + field(4, "Background") + field(5, "All")
    for version in ("v1", "apps/v1", "meta.k8s.io/v1"):
        assert protobuf.decode(body(version, "DeleteOptions", raw)) == {
            "apiVersion": version,
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": "u"},
            "propagationPolicy": "Background",
            "dryRun": ["All"],
        }


def test_wrapper_types_become_their_json_form() -> None:
    """Ports, quantities, times and durations of Kubernetes have types of their own in protobuf."""
    by_name = field(1, "p") + field(2, "TCP") + field(3, 80) + field(4, field(1, 1) + field(2, 0) + field(3, "http"))
    by_number = field(3, 81) + field(4, field(1, 0) + field(2, 8080) + field(3, ""))
    service = protobuf.decode(body("v1", "Service", field(2, field(1, by_name) + field(1, by_number))))
    assert service["spec"]["ports"] == [
        {"name": "p", "protocol": "TCP", "port": 80, "targetPort": "http"},
        {"port": 81, "targetPort": 8080},
    ]
    lease = field(1, "me") + field(2, 15) + field(3, field(1, 1_700_000_000) + field(2, 123_456_000))
    assert protobuf.decode(body("coordination.k8s.io/v1", "Lease", field(2, lease)))["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2023-11-14T22:13:20.123456Z",
    }
    limits = field(1, field(1, "cpu") + field(2, field(1, "500m"))) + field(1, field(1, "none"))
    container = field(1, "c") + field(8, limits)
    pod = protobuf.decode(body("v1", "Pod", field(2, field(2, container))))
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m", "none": "0"}}


def test_inline_members_and_bytes_belong_to_the_parent() -> None:
    """A volume is its source plus a name in JSON, and two messages in protobuf."""
    source = field(19, field(1, field(1, "cm")))
    volume = field(1, "v") + field(2, source)
    pod = protobuf.decode(body("v1", "Pod", field(2, field(1, volume))))
    assert pod["spec"]["volumes"] == [{"name": "v", "configMap": {"name": "cm"}}]
    config = protobuf.decode(body("v1", "ConfigMap", field(3, field(1, "k") + field(2, b"\x00\xff"))))
    assert config["binaryData"] == {"k": "AP8="}


def test_schemas_of_custom_resources_are_decoded() -> None:
    """A schema may be a boolean, a list or JSON text in places."""
    schema = (
        field(5, "object")
        + field(8, field(1, b'{"a":1}'))
        + field(9, 1.5)
        + field(30, field(1, 1))
        + field(24, field(1, field(5, "string")))
        + field(11, 2.0)
    )
    version = field(1, "v1") + field(4, field(1, schema))
    crd = protobuf.decode(body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version))))
    assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "default": {"a": 1},
        "maximum": 1.5,
        "additionalProperties": True,
        "items": {"type": "string"},
        "minimum": 2,
    }


def test_zero_scalars_are_left_out_where_json_leaves_them_out() -> None:
    """Go writes them all in protobuf; in JSON they would look as if a client had set them."""
    obj = protobuf.decode(body("v1", "ConfigMap", field(1, field(1, "") + field(7, 0) + field(10, 0))))
    assert obj["metadata"] == {"deletionGracePeriodSeconds": 0}


def test_unknown_fields_are_skipped_and_bad_text_is_replaced() -> None:
    """Newer clients know more fields; Go's decoder replaces what is not UTF-8."""
    raw = field(1, field(1, b"a\xff")) + field(99, "x") + field(98, 7)
    assert protobuf.decode(body("v1", "ConfigMap", raw))["metadata"] == {"name": "a\ufffd"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        protobuf.MAGIC,
        body("v1", "Nothing", b""),
        body("a/b/c", "Pod", b""),
        body("v1", "Pod", b"\x0a"),
        body("v1", "Pod", b"\x0a\x05ab"),
        body("v1", "Pod", b"\xff" * 12),
        body("v1", "Pod", b"\x0b"),
        body("v1", "Pod", field(1, 5)),
        body("coordination.k8s.io/v1", "Lease", field(2, field(3, field(1, 1 << 60)))),
        body("v1", "ConfigMap", field(1, field(17, field(7, field(1, b"{"))))),
    ],
)
def test_an_invalid_body_is_a_decode_error(data: bytes) -> None:
    """A broken body is the client's fault, never the server's failure."""
    with pytest.raises(DecodeError):
        protobuf.decode(data)


def test_nesting_is_bounded() -> None:
    """A few bytes per level must not exhaust the stack."""
    schema = b""
    for _ in range(5000):
        schema = field(28, schema)
    version = field(1, "v1") + field(4, field(1, schema))
    with pytest.raises(DecodeError, match="nested too deeply"):
        protobuf.decode(body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version))))


_KINDS = [("v1", "Pod"), ("apps/v1", "Deployment"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition")]


@settings(deadline=None)
@given(st.sampled_from(_KINDS), st.binary(max_size=80))
def test_noise_returns_an_object_or_raises_a_decode_error(kind: tuple[str, str], noise: bytes) -> None:
    """Whatever bytes arrive, the decoder raises nothing but DecodeError."""
    with suppress(DecodeError):
        json.dumps(protobuf.decode(body(*kind, noise)))


@settings(deadline=None)
@given(st.integers(0, 200), st.integers(0, 255))
def test_a_damaged_body_returns_an_object_or_raises_a_decode_error(position: int, byte: int) -> None:
    """Real bodies with one wrong byte reach deeper than noise."""
    for one in recorded_exchanges()[:4]:
        data = bytearray(base64.b64decode(one["request_base64"]))
        data[position % len(data)] = byte
        with suppress(DecodeError):
            json.dumps(protobuf.decode(bytes(data)))


# A small encoder that uses the same table; the decoder must restore what it writes.


def encode_message(obj: dict[str, Any], message: str) -> bytes:
    """Encode the fields of a message that are plain scalars, messages, lists and maps of them."""
    out = b""
    for number, (name, kind, flags) in protobuf._messages()[message].items():
        if not flags & 1 and name in obj:
            out += encode_member(number, obj[name], kind)
    return out


def encode_member(number: int, value: Any, kind: Any) -> bytes:
    """Encode one member."""
    if isinstance(kind, list):
        shape, inner = kind
        if shape == "L":
            return b"".join(encode_member(number, item, inner) for item in value)
        pairs = (field(1, key) + encode_member(2, item, inner) for key, item in value.items())
        return b"".join(field(number, pair) for pair in pairs)
    if kind in ("s", "i", "b", "d"):
        return field(number, value)
    return field(number, encode_message(value, kind))


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
metadata = st.fixed_dictionaries(
    {"name": names},
    optional={
        "labels": st.dictionaries(names, names, min_size=1, max_size=3),
        "finalizers": st.lists(names, min_size=1, max_size=2),
        "generation": st.integers(1, 1 << 62) | st.integers(-(1 << 62), -1),
        "ownerReferences": st.lists(
            st.fixed_dictionaries(
                {"apiVersion": names, "kind": names, "name": names, "uid": names},
                optional={"controller": st.booleans()},
            ),
            min_size=1,
            max_size=2,
        ),
    },
)


@settings(deadline=None)
@given(metadata, st.dictionaries(names, names, min_size=1))
def test_what_the_test_encoder_writes_is_decoded_unchanged(meta: dict[str, Any], data: dict[str, str]) -> None:
    """Every number, text, list and map must survive, whatever its length or sign."""
    obj = {"metadata": meta, "data": data}
    decoded = protobuf.decode(body("v1", "ConfigMap", encode_message(obj, "core/v1.ConfigMap")))
    assert decoded == {"apiVersion": "v1", "kind": "ConfigMap", **obj}


def test_a_message_without_fields_is_an_empty_object() -> None:
    """``subresources: {status: {}}`` became a string, so CRDs from typed Go clients were rejected."""
    subresources = field(1, b"") + field(2, field(1, ".spec.replicas"))
    version = field(1, "v1") + field(5, subresources)
    definition = protobuf.decode(
        body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(1, "g.dev") + field(7, version)))
    )
    (decoded,) = definition["spec"]["versions"]
    assert decoded["subresources"]["status"] == {}
    assert decoded["subresources"]["scale"]["specReplicasPath"] == ".spec.replicas"


def test_a_year_below_1000_has_four_digits() -> None:
    """Go's zero time plus some seconds is sent by clients that forgot to set a clock; Python's %Y drops the zeros."""
    seconds = -62135596798  # 0001-01-01T00:00:02Z
    encoded = b"\x08" + _varint(seconds & (1 << 64) - 1)
    assert protobuf._time(encoded) == "0001-01-01T00:00:02Z"
    assert protobuf._micro_time(encoded) == "0001-01-01T00:00:02.000000Z"


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])
