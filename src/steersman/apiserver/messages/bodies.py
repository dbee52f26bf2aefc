"""From the bytes of a request to a JSON document: JSON, YAML or protobuf; errors are worded as Go's are.

Also finds fields that are set twice, which Kubernetes warns about. What the document means is the kind's business.
"""

import re

from msgspec import Struct

from steersman.apiserver.messages.negotiation import JSON, YAML
from steersman.apiserver.status import bad_request, too_large
from steersman.errors import DecodeError
from steersman.golang.strict_json import (
    JSON_WORDS,
    decode_json,
    not_an_object_message,
    not_json_message,
    settle_numbers,
    unrecognized_message,
)
from steersman.json_types import JsonObject

BODY_LIMIT = 3 * 1024 * 1024
#: Go's words for the types of JSON values.
_YAML_ERRORS = re.compile(r"\A(?:error converting YAML to JSON: )?yaml: unmarshal errors:\n  ")
_PREFIX_FAULT = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"


class Body(Struct):
    """A document, with what decoding found."""

    document: JsonObject
    #: Errors about duplicate keys: warnings, or a rejection when the client is strict.
    complaints: list[str] = []
    #: Whether it has numbers such as 1.0, which are stored as 1.
    has_floats: bool = False

    def __repr__(self) -> str:
        return f"Body(complaints={self.complaints!r}, has_floats={self.has_floats!r})"


def check_size(data: bytes) -> None:
    """Reject a body over the limit."""
    if len(data) > BODY_LIMIT:
        raise too_large(BODY_LIMIT)


def parse_json(data: bytes) -> object:
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


def _object_only(document: object, data: bytes, kind: str) -> JsonObject:
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
    from steersman.golang.yaml_reader import YamlError, read_yaml  # noqa: PLC0415 - YAML bodies are rare

    try:
        read = read_yaml(data)
    except YamlError as error:
        raise bad_request(unrecognized_message(data, kind, str(error))) from None
    complaints = [read.strict_error] if read.duplicates else []
    return Body(_object_only(read.value, data, kind), complaints)


def read_configuration(data: bytes) -> Body:
    """Read the body of an apply, which is YAML; most clients send JSON, which is YAML too."""
    try:
        decoded = decode_json(data)
        if not decoded.duplicates:
            return Body(_configuration_only(settle_numbers(decoded.value)))
    except DecodeError:
        pass
    from steersman.golang.yaml_reader import YamlError, read_yaml  # noqa: PLC0415 - YAML bodies are rare

    try:
        read = read_yaml(data)
    except YamlError as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    complaints = [f"error converting YAML to JSON: {read.strict_error}"] if read.duplicates else []
    return Body(_configuration_only(read.value), complaints)


def _configuration_only(document: object) -> JsonObject:
    if document is None:
        return {}
    if document.__class__ is not dict:
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{JSON_WORDS[document.__class__]} into Go value of type map[string]interface {{}}"
        )
    return document


def strict_warnings(faults: list[str]) -> list[str]:
    """Return strict decoding errors as warnings, each of which is one line."""
    return [line for fault in faults for line in _YAML_ERRORS.sub("", fault).split("\n  ")]


def _read_protobuf(data: bytes, kind: str) -> JsonObject:
    from steersman.apiserver.messages import protobuf  # noqa: PLC0415 - its tables are large

    if data[:4] != b"k8s\0":
        raise bad_request(unrecognized_message(data, kind, _PREFIX_FAULT))
    try:
        return protobuf.decode(data)
    except DecodeError as error:
        why = "unexpected EOF" if "ends in the middle" in str(error) else str(error)
        raise bad_request(unrecognized_message(data, kind, why)) from None
