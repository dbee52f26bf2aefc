"""Reads JSON into the typed structures of Kubernetes: what is kept, what is unknown, what is rejected.

A type is described once as a value (`Record`, `Listed`, `Mapped`, a scalar …). `read` returns the JSON value as the
server's own structures would write it again (without nulls and empty optional fields, fields in their declared order),
the paths of unknown fields, and for a wrong type the message of Go's decoder. It does not validate values.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from steersman.golang.text import json_number, json_string
from steersman.json_types import JsonObject
from steersman.validation.formats import is_go_time

_INT64 = range(-(2**63), 2**63)
_INT32 = range(-(2**31), 2**31)
_TIME_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"

#: Go's words for the JSON values that a decoder meets.
_JSON_WORDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


class WireTypeError(Exception):
    """A value does not fit its type; the text is that of Go's decoder."""


class MismatchedType(WireTypeError):  # noqa: N818 - named as the fact, like the rest of the tree
    """A value has another type than its field. Go reads on, and reports it only if nothing worse follows."""


@dataclass(slots=True)
class Reading:
    """Position of a reader, and the unknown fields it has met."""

    unknown: list[str] = field(default_factory=list)
    #: The struct whose field is being read, and the names of the fields down to it: Go names both.
    record: str = ""
    trail: tuple[str, ...] = ()
    #: Whether empty maps and lists that would not be written are kept nevertheless, and whether there was one.
    keeps_empty: bool = False
    has_empty: bool = False

    def refuse(self, value: object, wanted: str) -> MismatchedType:
        """Return the error for a value that is not of the wanted Go type."""
        word = _JSON_WORDS[value.__class__]
        if wanted in ("int64", "int32") and word == "number":
            word = f"number {json_number(value) if value.__class__ is float else value}"
        where = f"Go struct field {self.record}.{'.'.join(self.trail)}" if self.trail else "Go value"
        return MismatchedType(f"json: cannot unmarshal {word} into {where} of type {wanted}")


#: Reads one value and returns what is kept of it. The path is the one by which unknown fields are named.
Reader = Callable[[Any, str, Reading], Any]


@dataclass(frozen=True, slots=True)
class WireType:
    """A type: how Go calls it, how a value is read, and what an absent value is written as."""

    go_name: str
    read: Reader
    #: What Go writes for a field that was never set and is not optional.
    zero: Any = None


@dataclass(frozen=True, slots=True)
class WireField:
    """A field of a record; an optional one is left out when empty, others are written as their type's zero value."""

    type: WireType
    optional: bool = True
    #: A pointer in Go: an empty value that was set is kept.
    pointer: bool = False


def _scalar(go_name: str, accepts: Callable[[Any], bool], zero: object) -> WireType:
    def read(value: object, _path: str, reading: Reading) -> Any:
        if value is None:
            return zero
        if accepts(value):
            return value
        raise reading.refuse(value, go_name)

    return WireType(go_name, read, zero)


def text(go_name: str = "string") -> WireType:
    """Return the type of a string, under the name of its Go type."""
    return _scalar(go_name, lambda value: value.__class__ is str, "")


STRING: Final = text()
BOOL: Final = _scalar("bool", lambda value: value.__class__ is bool, zero=False)
INT64: Final = _scalar("int64", lambda value: value.__class__ is int and value in _INT64, 0)
INT32: Final = _scalar("int32", lambda value: value.__class__ is int and value in _INT32, 0)
FLOAT64: Final = _scalar("float64", lambda value: value.__class__ in (int, float), 0)

#: Any JSON value, kept unchanged.
JSON: Final = WireType("v1.JSON", lambda value, _path, _reading: value)


def _read_time(value: object, _path: str, _reading: Reading) -> object:
    if value is None:
        return None
    if value.__class__ is not str:
        word = _JSON_WORDS[value.__class__]
        raise WireTypeError(f"json: cannot unmarshal {word} into Go value of type string")
    if not is_go_time(value):
        shown = json_string(value)
        raise WireTypeError(f'parsing time {shown} as "{_TIME_LAYOUT}": cannot parse {shown} as "2006"')
    return value


#: A point in time, RFC 3339.
TIME: Final = WireType("v1.Time", _read_time)


def listed(item: WireType) -> WireType:
    """Return the type of a list of one type."""
    go_name = f"[]{item.go_name}"

    def read(value: object, path: str, reading: Reading) -> Any:
        if value is None:
            return None
        if value.__class__ is not list:
            raise reading.refuse(value, go_name)
        return [item.read(part, f"{path}[{index}]", reading) for index, part in enumerate(value)]

    return WireType(go_name, read)


def mapped(item: WireType) -> WireType:
    """Return the type of a map from strings to one type."""
    go_name = f"map[string]{item.go_name}"

    def read(value: object, path: str, reading: Reading) -> Any:
        if value is None:
            return None
        if value.__class__ is not dict:
            raise reading.refuse(value, go_name)
        return {key: item.read(value[key], f"{path}.{key}", reading) for key in value}

    return WireType(go_name, read)


def _kept(spec: WireField, value: object) -> bool:
    if not spec.optional:
        return True
    if value is None:
        return False
    return spec.pointer or bool(value)


class Record:
    """A structure with named fields; fields may be added after it is made, so that it can contain itself."""

    def __init__(self, name: str, fields: Mapping[str, WireField] | None = None, *, restarts: bool = False) -> None:
        self.name = name
        self.fields: dict[str, WireField] = dict(fields or {})
        #: Go decodes it by itself, so that its messages do not name the fields above it.
        self.restarts = restarts
        self.type = WireType(f"v1.{name}", self.read)

    def read(self, value: object, path: str, reading: Reading) -> JsonObject | None:
        """Read an object; unknown fields are noted and dropped, in the order in which Go finds them."""
        if value is None:
            return None
        if value.__class__ is not dict:
            raise reading.refuse(value, self.type.go_name)
        before = reading.record, reading.trail
        trail = () if self.restarts else before[1]
        reading.record = self.name
        found: JsonObject = {}
        for key, part in value.items():
            spec = self.fields.get(key)
            here = f"{path}.{key}" if path else key
            if spec is None:
                reading.unknown.append(here)
                continue
            reading.record, reading.trail = self.name, (*trail, key)
            found[key] = None if part is None and spec.pointer else spec.type.read(part, here, reading)
        reading.record, reading.trail = before
        return self._written(found)

    def _written(self, found: JsonObject) -> JsonObject:
        written = {}
        for name, spec in self.fields.items():
            value = found.get(name, None if spec.pointer else spec.type.zero)
            if _kept(spec, value):
                written[name] = value
        return written
