"""Built-in kinds as Go reads and writes them: which fields exist, which are always written, which values are rejected.

A document is read into the kind's struct and written again: unknown fields are dropped and recorded, nulls and empty
optional fields are removed, structs that are not pointers are written even when they are empty, quantities and times
get their canonical form. The structs come from the tables of protobuf decoding and OpenAPI; each is compiled on first
use.
"""

import base64
import lzma
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from steersman.apiserver.builtin.types import load_types
from steersman.golang.empty_values import GivenList, GivenMap, ShownList
from steersman.golang.text import json_string
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind
from steersman.objects.quantity import Quantity
from steersman.objects.times import Duration, MicroTime, format_time, parse_time
from steersman.validation.formats import is_go_time
from steersman.validation.wire_types import BOOL, FLOAT64, INT32, INT64, STRING, Reading, WireTypeError, text

Read = Callable[[Any, str, Reading], Any]
_INLINE, _OMIT_EMPTY, _POINTER = 1, 2, 4
_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
#: Groups whose Go package is not the first word of their name.
_PACKAGES = {"": "core", "internal": "apiserverinternal"}
#: Structs that are not pointers and are left out when they are empty all the same.
_OMIT_ZERO = frozenset(
    {
        ("meta/v1.ObjectMeta", "creationTimestamp"),
    }
)
#: Structs without fields, which the table does not mark as structs.
_EMPTY_STRUCTS = frozenset({("apiextensions/v1.CustomResourceSubresources", "status")})
#: Strings with a type of their own, which error messages name.
_NAMED_TEXTS = {
    ("meta/v1.OwnerReference", "uid"): text("types.UID"),
    ("meta/v1.ObjectMeta", "uid"): text("types.UID"),
}


class _Field(NamedTuple):
    """One field of a struct."""

    read: Read
    #: Returns the value that is written for a field that was never set; ``None`` with ``keeps_zero`` is a JSON null.
    zero: Callable[[], Any]
    #: Whether the zero value is written.
    keeps_zero: bool
    #: Whether every value that was set is written, even an empty one.
    pointer: bool


@cache
def _table() -> dict[str, dict[str, tuple[str, Any, int]]]:
    packed = files("steersman.apiserver").joinpath("data/protobuf.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(packed), type=dict[str, dict[str, tuple[str, Any, int]]])


@cache
def _narrow_integers() -> frozenset[tuple[str, str]]:
    """Return the 32-bit integer fields, by struct and name."""
    found = set()
    for name, schema in load_types().items():
        parts = name.rsplit(".", 3)
        for key, below in schema.get("properties", {}).items():
            if below.get("format") == "int32":
                found.add((f"{parts[-3]}/{parts[-2]}.{parts[-1]}", key))
    return frozenset(found)


def message_of(gvk: GroupVersionKind) -> str:
    """Return the name of a kind's struct."""
    package = gvk.group.partition(".")[0]
    return f"{_PACKAGES.get(package, package)}/{gvk.version}.{gvk.kind}"


class Struct:
    """One struct, compiled from the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._go_name = name.partition(".")[2]
        self._fields: dict[str, _Field] | None = None
        #: Field → the embedded structs that it comes from; error messages name them.
        self._embedded: dict[str, tuple[str, ...]] = {}

    @property
    def fields(self) -> dict[str, _Field]:
        """Fields in their order; compiled on first use, because a struct may contain itself."""
        if self._fields is None:
            self._fields = {}
            self._collect(self.name, self._fields)
        return self._fields

    def _collect(self, message: str, fields: dict[str, _Field]) -> None:
        for _, (name, kind, flags) in sorted(_table()[message].items(), key=lambda item: int(item[0])):
            if flags & _INLINE and isinstance(kind, str) and kind in _table():
                known = set(fields)
                self._collect(kind, fields)
                for below in fields.keys() - known:
                    self._embedded[below] = (kind.partition(".")[2], *self._embedded.get(below, ()))
            else:
                fields[name] = _field(message, name, kind, flags)

    def read(self, value: object, path: str, reading: Reading) -> JsonObject:
        """Read an object; unknown fields are recorded and dropped."""
        if value.__class__ is not dict:
            if value is None:
                return self.zero()
            raise reading.refuse(value, self.name.partition("/")[2])
        before = reading.record, reading.trail
        found: JsonObject = {}
        fields = self.fields
        for key, part in value.items():
            spec = fields.get(key)
            here = f"{path}.{key}" if path else key
            if spec is None:
                reading.unknown.append(here)
                continue
            if part is None and spec.pointer:
                continue
            reading.record, reading.trail = self._go_name, (*before[1], *self._embedded.get(key, ()), key)
            found[key] = spec.read(part, here, reading)
        reading.record, reading.trail = before
        return self._written(found, reading if reading.keeps_empty else None)

    def zero(self) -> JsonObject:
        """Return what is written for a struct in which nothing is set."""
        return self._written({}, None)

    def _written(self, found: JsonObject, marking: Reading | None) -> JsonObject:
        """Return the fields that are written, in their order; with ``marking`` also those that were sent empty."""
        written: JsonObject = {}
        for name, spec in self.fields.items():
            if name in found:
                value = found[name]
                if spec.keeps_zero or (spec.pointer and value is not None) or _is_set(value):
                    written[name] = value
                    if marking is not None and value.__class__ is list and not value and not spec.pointer:
                        marking.has_empty = True
                        written[name] = ShownList()
                elif marking is not None and (mark := _MARKS.get(value.__class__)):
                    marking.has_empty = True
                    written[name] = mark()
            elif spec.keeps_zero:
                written[name] = spec.zero()
        return written


_MARKS: dict[type, Callable[[], Any]] = {dict: GivenMap, list: GivenList}


def _is_set(value: object) -> bool:
    return bool(value) if value.__class__ in (str, int, bool, float, list, dict) else value is not None


@cache
def struct(name: str) -> Struct:
    """Return a struct by its name."""
    return Struct(name)


def _field(message: str, name: str, kind: object, flags: int) -> _Field:
    pointer = bool(flags & _POINTER) or kind == "RAW"
    read, zero, is_struct = _reader(message, name, kind)
    optional = bool(flags & _OMIT_EMPTY)
    keeps_zero = not pointer and (not optional or is_struct)
    if kind in ("T", "MT", "Q") and not pointer:
        keeps_zero = True
    if (message, name) in _OMIT_ZERO:
        keeps_zero = False
    if pointer and not optional:
        return _Field(read, lambda: None, keeps_zero=True, pointer=pointer)
    return _Field(read, zero, keeps_zero, pointer)


def _reader(message: str, name: str, kind: object) -> tuple[Read, Callable[[], Any], bool]:
    """Return the reader of a type, its zero value, and whether it is a struct."""
    if isinstance(kind, list):
        item, _, _ = _reader(message, name, kind[1])
        return (_list(item) if kind[0] == "L" else _map(item)), _nothing, False
    if kind == "i":
        narrow = (message, name) in _narrow_integers()
        return (INT32 if narrow else INT64).read, lambda: 0, False
    if (message, name) in _NAMED_TEXTS:
        return _NAMED_TEXTS[message, name].read, lambda: "", False
    if (message, name) in _EMPTY_STRUCTS:
        return _any, dict, True
    if kind in _SCALARS:
        read, zero = _SCALARS[kind]
        return read, lambda: zero, False
    below = struct(kind)
    return below.read, below.zero, True


def _nothing() -> None:
    return None


def _list(item: Read) -> Read:
    def read(value: object, path: str, reading: Reading) -> Any:
        if value is None:
            return None
        if value.__class__ is not list:
            raise reading.refuse(value, "[]string" if item is STRING.read else f"[]{_item_name(item)}")
        return [item(part, f"{path}[{index}]", reading) for index, part in enumerate(value)]

    return read


def _item_name(item: Read) -> str:
    owner = getattr(item, "__self__", None)
    return owner.name.partition("/")[2] if isinstance(owner, Struct) else "v1.Item"


def _map(item: Read) -> Read:
    def read(value: object, path: str, reading: Reading) -> Any:
        if value is None:
            return None
        if value.__class__ is not dict:
            raise reading.refuse(value, _MAP_NAMES.get(item, "map[string]v1.Item"))
        return {key: item(part, f"{path}.{key}", reading) for key, part in value.items()}

    return read


#: Go's names for maps with such values.
_MAP_NAMES: dict[Read, str] = {}


def _any(value: object, path: str, reading: Reading) -> object:
    del path, reading
    return value


_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def _bytes(value: object, path: str, reading: Reading) -> object:
    del path
    if value is None:
        return ""
    if value.__class__ is not str:
        raise reading.refuse(value, "[]uint8")
    text = re.sub(r"[\r\n]", "", value)
    if _BASE64.fullmatch(text) is None:
        raise WireTypeError(f"illegal base64 data at input byte {_bad_base64(text)}")
    # Encode again: the unused last bits of a short group may have had any value.
    return base64.b64encode(base64.b64decode(text)).decode()


def _bad_base64(text: str) -> int:
    """Return the position at which Go stops reading base64: an invalid byte, or the start of an incomplete group."""
    data = text.encode()
    full = len(_match(rb"(?:[A-Za-z0-9+/]{4})*", data))
    rest = len(_match(rb"[A-Za-z0-9+/]*", data[full:]))
    padding = _match(rb"={0,2}", data[full + rest :])
    if full + rest == len(data):
        return full
    if rest + len(padding) == 4 or (rest, padding) == (3, b"=="):  # noqa: PLR2004 - the bytes of a group
        return full + 4
    is_short = rest == 2 and full + rest + len(padding) == len(data)  # noqa: PLR2004 - bytes that need two padding characters
    return len(data) if is_short else full + rest


def _match(pattern: bytes, data: bytes) -> bytes:
    found = re.match(pattern, data)
    return found[0] if found else b""


def _quantity(value: object, path: str, reading: Reading) -> object:
    del path, reading
    if value is None:
        return "0"
    if value.__class__ not in (str, int, float):
        raise WireTypeError(_QUANTITY_RULE)
    try:
        return Quantity(value if value.__class__ is not str else value.strip()).canonical()
    except ValueError:
        raise WireTypeError(_QUANTITY_RULE) from None


def _parsed_time(value: object, layout: str) -> str:
    if value.__class__ is not str:
        raise WireTypeError(f"json: cannot unmarshal {_WORDS[value.__class__]} into Go value of type string")
    if not is_go_time(value):
        shown = json_string(value)
        if re.match(r"\d{5}", value):
            raise WireTypeError(f'parsing time {shown} as "{layout}": cannot parse {json_string(value[4:])} as "-"')
        raise WireTypeError(f'parsing time {shown} as "{layout}": cannot parse {shown} as "2006"')
    return value


_WORDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def _time(value: object, path: str, reading: Reading) -> object:
    del path, reading
    if value is None:
        return None
    moment = parse_time(_parsed_time(value, _TIME_LAYOUT))
    return None if moment == _NO_TIME else format_time(moment)


#: Go's zero time, which it writes as null.
_NO_TIME = datetime(1, 1, 1, tzinfo=UTC)
_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)")


def _micro_time(value: object, path: str, reading: Reading) -> object:
    del path, reading
    if value is None:
        return None
    text = _parsed_time(value, _MICRO_LAYOUT)
    if not _MICRO.fullmatch(text):
        rest = text[19:]
        raise WireTypeError(f'parsing time "{text}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as ".000000"')
    moment = parse_time(text)
    return None if moment == _NO_TIME else str(MicroTime.of(moment))


def _duration(value: object, path: str, reading: Reading) -> Any:
    del path
    if value is None:
        return "0s"
    if value.__class__ is not str:
        raise reading.refuse(value, "string")
    try:
        return str(Duration.parse(value))
    except ValueError:
        raise WireTypeError(f'time: invalid duration "{value}"') from None


def _int_or_string(value: object, path: str, reading: Reading) -> object:
    del path
    if value is None:
        return 0
    if value.__class__ is str or (value.__class__ is int and -(2**31) <= value < 2**31):
        return value
    raise reading.refuse(value, "int32")


def _strings(value: object, path: str, reading: Reading) -> object:
    return _list(STRING.read)(value, path, reading)


def _schema(value: object, path: str, reading: Reading) -> object:
    """Read a JSON schema, which Go reads with a custom function: unknown fields are dropped and not recorded."""
    if value.__class__ is list:
        return [_schema(part, f"{path}[{index}]", reading) for index, part in enumerate(value)]
    if value.__class__ is not dict:
        # Whether the value is allowed here is decided by the validation of CRDs.
        return value
    alone = Reading()
    alone.record, alone.trail = reading.record, reading.trail
    return struct("apiextensions/v1.JSONSchemaProps").read(value, path, alone)


_MAP_NAMES.update({STRING.read: "map[string]string", _quantity: "v1.ResourceList", _bytes: "map[string][]uint8"})
_SCALARS: dict[str, tuple[Read, Any]] = {
    "s": (STRING.read, ""),
    "b": (BOOL.read, False),
    "d": (FLOAT64.read, 0),
    "y": (_bytes, None),
    "T": (_time, None),
    "MT": (_micro_time, None),
    "meta/v1.Duration": (_duration, "0s"),
    "Q": (_quantity, "0"),
    "IS": (_int_or_string, 0),
    "RAW": (_any, None),
    "FV1": (_any, None),
    "JSON": (_any, None),
    "WRAP": (_strings, None),
    "PB": (_schema, None),
    "PA": (_schema, None),
    "PSA": (_any, None),
}
