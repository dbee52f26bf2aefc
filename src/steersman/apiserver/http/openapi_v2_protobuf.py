"""The OpenAPI v2 document as protobuf, which client-go requests. Pure.

The messages are those of gnostic's ``openapi.v2`` package; a table has the numbers of the fields that Kubernetes uses.
Values of any type, such as extensions, are strings of YAML there; JSON is YAML.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from steersman.json_types import JsonObject
from steersman.objects.codec import encode_json

_VARINT, _DOUBLE, _BYTES = 0, 1, 2
#: Writes a value of a field with that number.
Writer: TypeAlias = Callable[[int, Any], bytes]


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _bytes(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _text(number: int, value: Any) -> bytes:
    return _bytes(number, str(value).encode())


def _integer(number: int, value: Any) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(int(value)) if value else b""


def _double(number: int, value: Any) -> bytes:
    return _varint(number << 3 | _DOUBLE) + struct.pack("<d", value) if value else b""


def _texts(number: int, values: Iterable[Any]) -> bytes:
    return b"".join(_text(number, value) for value in values)


def _any(number: int, value: Any) -> bytes:
    return _bytes(number, _bytes(2, encode_json(value) + b"\n"))


def _anys(number: int, values: Iterable[Any]) -> bytes:
    return b"".join(_any(number, value) for value in values)


def _named(number: int, name: str, value: bytes) -> bytes:
    """Write an entry of a map, which is a message of a name and a value."""
    return _bytes(number, _text(1, name) + _bytes(2, value))


def _fields(document: Mapping[str, Any], table: Mapping[str, tuple[int, Writer]], extensions: int) -> bytes:
    """Write the fields of a table, then the extensions in the field with that number."""
    made = [writer(number, document[key]) for key, (number, writer) in table.items() if key in document]
    for key, value in document.items():
        if key.startswith("x-"):
            made.append(_named(extensions, key, _bytes(2, encode_json(value) + b"\n")))
    return b"".join(made)


def _types(number: int, value: Any) -> bytes:
    return _bytes(number, _text(1, value))


def _schema(schema: JsonObject) -> bytes:
    return _fields(schema, _SCHEMA, 31)


def _items(number: int, schema: JsonObject) -> bytes:
    return _bytes(number, _bytes(1, _schema(schema)))


def _additional(number: int, value: Any) -> bytes:
    return _bytes(number, _integer(2, value) if isinstance(value, bool) else _bytes(1, _schema(value)))


def _properties(number: int, properties: JsonObject) -> bytes:
    return _bytes(number, b"".join(_named(1, name, _schema(part)) for name, part in properties.items()))


_SCHEMA: dict[str, tuple[int, Writer]] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _integer),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _integer),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "uniqueItems": (16, _integer),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _texts),
    "enum": (20, _anys),
    "additionalProperties": (21, _additional),
    "type": (22, _types),
    "items": (23, _items),
    "properties": (25, _properties),
    "example": (30, _any),
}
_BODY: dict[str, tuple[int, Writer]] = {
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _integer),
    "schema": (5, lambda number, schema: _bytes(number, _schema(schema))),
}
_QUERY: dict[str, tuple[int, Writer]] = {"in": (2, _text), "name": (4, _text), "type": (6, _text)} | {
    "uniqueItems": (20, _integer)
}
_PATH: dict[str, tuple[int, Writer]] = {"required": (1, _integer), "in": (2, _text), "name": (4, _text)} | {
    "type": (5, _text),
    "uniqueItems": (19, _integer),
}


def _parameter(parameter: JsonObject) -> bytes:
    if parameter["in"] == "body":
        return _bytes(1, _fields(parameter, _BODY, 6))
    if parameter["in"] == "path":
        return _bytes(2, _bytes(4, _fields(parameter, _PATH, 22)))
    return _bytes(2, _bytes(3, _fields(parameter, _QUERY, 23)))


def _parameters(number: int, parameters: Iterable[JsonObject]) -> bytes:
    return b"".join(_bytes(number, _bytes(1, _parameter(parameter))) for parameter in parameters)


def _responses(number: int, responses: JsonObject) -> bytes:
    made = []
    for code, response in responses.items():
        content = _text(1, response["description"])
        if "schema" in response:
            content += _bytes(2, _bytes(1, _schema(response["schema"])))
        made.append(_named(1, code, _bytes(1, content)))
    return _bytes(number, b"".join(made))


_OPERATION: dict[str, tuple[int, Writer]] = {
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _parameters),
    "responses": (9, _responses),
    "schemes": (10, _texts),
}


def _operation(number: int, operation: JsonObject) -> bytes:
    return _bytes(number, _fields(operation, _OPERATION, 13))


_ITEM: dict[str, tuple[int, Writer]] = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameters),
}


def encode_document(document: JsonObject) -> bytes:
    """Return an OpenAPI v2 document as a message ``openapi.v2.Document``."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(_named(2, path, _fields(item, _ITEM, 10)) for path, item in document["paths"].items())
    definitions = b"".join(_named(1, name, _schema(part)) for name, part in document["definitions"].items())
    return _text(1, document["swagger"]) + _bytes(2, info) + _bytes(8, paths) + _bytes(9, definitions)
