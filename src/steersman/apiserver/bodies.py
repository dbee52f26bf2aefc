"""From the bytes of a request to a JSON document: JSON, YAML or protobuf, with Go's words for what cannot be read.

Also finds fields that are set twice, which Kubernetes warns about. What the document means is the kind's business.
"""

from typing import Any

from msgspec import Struct

from steersman.apiserver.negotiation import JSON, YAML
from steersman.apiserver.status import Refusal, bad_request, too_large
from steersman.errors import DecodeError
from steersman.schema.strict_decoding import (
    decode_json,
    not_an_object_message,
    not_json_message,
    unrecognized_message,
)

BODY_LIMIT = 3 * 1024 * 1024
#: Go's words for the JSON values that a decoder meets.
JSON_WORDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
_PREFIX_FAULT = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"


class Body(Struct):
    """A document and what was noticed while reading it."""

    document: dict[str, Any]
    #: Complaints about duplicate keys: warnings, or errors when the client asked to be strict.
    complaints: list[str] = []
    #: Whether numbers may have to be settled before they are stored.
    has_floats: bool = False

    def __repr__(self) -> str:
        return f"Body(complaints={self.complaints!r}, has_floats={self.has_floats!r})"


def check_size(data: bytes) -> None:
    """Refuse a body over the limit."""
    if len(data) > BODY_LIMIT:
        raise too_large(BODY_LIMIT)


def parse_json(data: bytes) -> Any:
    """Read JSON as Go does; raises ``ValueError`` with Go's message."""
    try:
        return decode_json(data).value
    except DecodeError as error:
        raise ValueError(str(error)) from None


def read_body(data: bytes, media: str, kind: str) -> Body:
    """Read the body of a create or an update into an object's document."""
    check_size(data)
    if media == JSON:
        return _read_json(data, kind)
    if media == YAML:
        return _read_yaml(data, kind)
    return Body(_read_protobuf(data, kind))


def _object_only(document: Any, data: bytes, kind: str) -> dict[str, Any]:
    if document is None:
        return {}
    if document.__class__ is not dict:
        raise bad_request(not_an_object_message(data, kind, JSON_WORDS[document.__class__]))
    return document


def _read_json(data: bytes, kind: str) -> Body:
    try:
        decoded = decode_json(data)
    except DecodeError as error:
        raise bad_request(not_json_message(data, kind, str(error))) from None
    document = _object_only(decoded.value, data, kind)
    complaints = [f'duplicate field "{path}"' for path in decoded.duplicates] if decoded.duplicates else []
    return Body(document, complaints, decoded.has_floats or decoded.has_huge)


def _read_yaml(data: bytes, kind: str) -> Body:
    from steersman.apiserver.yaml_text import YamlFault, parse_yaml  # noqa: PLC0415 - YAML bodies are rare

    try:
        document, duplicates = parse_yaml(data)
    except YamlFault as fault:
        raise bad_request(unrecognized_message(data, kind, str(fault))) from None
    return Body(_object_only(document, data, kind), duplicates, has_floats=True)


def _read_protobuf(data: bytes, kind: str) -> dict[str, Any]:
    from steersman.apiserver import protobuf  # noqa: PLC0415 - its tables are large

    if data[:4] != b"k8s\0":
        raise bad_request(unrecognized_message(data, kind, _PREFIX_FAULT))
    try:
        return protobuf.decode(data)
    except DecodeError as error:
        why = "unexpected EOF" if "ends in the middle" in str(error) else str(error)
        raise bad_request(unrecognized_message(data, kind, why)) from None


def unrecognized(kind: str, why: str, data: bytes) -> Refusal:
    """400: the body is no object at all."""
    return bad_request(unrecognized_message(data, kind, why))
