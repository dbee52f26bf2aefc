"""The few types that an expression can build by name: protobuf's wrappers, ``Value``, ``Struct``, times."""

from collections.abc import Callable, Mapping
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
)
from steersman.cel.values.times import SECOND, check_duration, check_timestamp
from steersman.cel.values.values import CelMap, Uint


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
