"""The types that an expression can build by name: protobuf's wrappers, ``Value``, ``Struct``, times; patches."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steersman.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    list_of,
    map_of,
    object_type,
)
from steersman.cel.values.times import SECOND, check_duration, check_timestamp
from steersman.cel.values.values import CelMap, ObjectValue, Uint


@dataclass(frozen=True, slots=True)
class WellKnown:
    """A type, the fields it is built from, and how."""

    type: CelType
    fields: Mapping[str, CelType]
    build: Callable[[Mapping[str, Any]], Any]


def _wrapper(kind: CelType, zero: object) -> WellKnown:
    return WellKnown(kind, {"value": kind}, lambda given: given.get("value", zero))


def _nanos(given: Mapping[str, Any]) -> int:
    return int(given.get("seconds", 0)) * SECOND + int(given.get("nanos", 0))


_VALUE = {"number_value": DOUBLE, "string_value": STRING, "bool_value": BOOL}
_INTEGERS = {"seconds": INT, "nanos": INT}
_STRUCT = map_of(STRING, DYN)
_LIST = list_of(DYN)

#: Finds a type that can be built, by its name.
StructTypes = Callable[[str], "WellKnown | None"]

WELL_KNOWN: dict[str, WellKnown] = {
    "google.protobuf.BoolValue": _wrapper(BOOL, zero=False),
    "google.protobuf.BytesValue": _wrapper(BYTES, b""),
    "google.protobuf.DoubleValue": _wrapper(DOUBLE, 0.0),
    "google.protobuf.FloatValue": _wrapper(DOUBLE, 0.0),
    "google.protobuf.Int32Value": _wrapper(INT, 0),
    "google.protobuf.Int64Value": _wrapper(INT, 0),
    "google.protobuf.StringValue": _wrapper(STRING, ""),
    "google.protobuf.UInt32Value": _wrapper(UINT, Uint(0)),
    "google.protobuf.UInt64Value": _wrapper(UINT, Uint(0)),
    "google.protobuf.Value": WellKnown(DYN, _VALUE, lambda given: next(iter(given.values()), None)),
    "google.protobuf.Struct": WellKnown(_STRUCT, {"fields": _STRUCT}, lambda given: given.get("fields", CelMap())),
    "google.protobuf.ListValue": WellKnown(_LIST, {"values": _LIST}, lambda given: given.get("values", [])),
    "google.protobuf.Timestamp": WellKnown(TIMESTAMP, _INTEGERS, lambda given: check_timestamp(_nanos(given))),
    "google.protobuf.Duration": WellKnown(DURATION, _INTEGERS, lambda given: check_duration(_nanos(given))),
}


class _AnyField(Mapping[str, CelType]):
    """The fields of an object without a schema: every name is one, of any type."""

    def __getitem__(self, name: str) -> CelType:
        return DYN

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


OBJECT = "Object"
JSON_PATCH = object_type("JSONPatch")
_JSON_PATCH = WellKnown(
    JSON_PATCH,
    {"op": STRING, "path": STRING, "from": STRING, "value": DYN},
    lambda given: ObjectValue(JSON_PATCH.name, given),
)


def patch_types(name: str) -> WellKnown | None:
    """Return a type of the expressions that change objects: ``JSONPatch``, ``Object`` and ``Object.spec.template``."""
    if name == JSON_PATCH.name:
        return _JSON_PATCH
    if name == OBJECT or name.startswith(f"{OBJECT}."):
        return WellKnown(object_type(name), _AnyField(), lambda given: ObjectValue(name, given))
    return WELL_KNOWN.get(name)
