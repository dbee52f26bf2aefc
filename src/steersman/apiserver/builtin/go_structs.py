"""Built-in kinds as Go reads and writes them: which fields there are, which are always written, what is refused.

A document is read into the kind's structure and written again: unknown fields are dropped and named, nulls and empty
optional fields vanish, structures that are no pointers appear even when empty, quantities and times take one form.
Made from the same tables as protobuf decoding and OpenAPI, each structure when it is first needed.
"""

import base64
import lzma
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from steersman.apiserver.builtin.types import load_types
from steersman.golang.empty_values import GivenList, GivenMap, ShownList
from steersman.golang.text import json_string
from steersman.objects.identity import GroupVersionKind
from steersman.objects.quantity import Quantity
from steersman.objects.times import Duration, format_time, parse_time
from steersman.validation.formats import is_go_time
from steersman.validation.wire_types import BOOL, FLOAT64, INT32, INT64, STRING, Reading, WireTypeError, text

Document = dict[str, Any]
Read = Callable[[Any, str, Reading], Any]
_INLINE, _OMIT_EMPTY, _POINTER = 1, 2, 4
_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
#: Groups whose Go package is not the first word of their name.
_PACKAGES = {"": "core", "internal": "apiserverinternal"}
#: Structures without a pointer that are nevertheless left out when nothing is in them.
_OMIT_ZERO = frozenset(
    {
        ("meta/v1.ObjectMeta", "creationTimestamp"),
    }
)
#: Structures without fields, which the table does not know as such.
_EMPTY_STRUCTS = frozenset({("apiextensions/v1.CustomResourceSubresources", "status")})
#: Texts with a type of their own, which complaints name.
_NAMED_TEXTS = {
    ("meta/v1.OwnerReference", "uid"): text("types.UID"),
    ("meta/v1.ObjectMeta", "uid"): text("types.UID"),
}


class _Field(NamedTuple):
    """One field of a structure."""

    read: Read
    #: Written when it was never set; ``None`` with ``keeps_zero`` is a JSON null.
    zero: Callable[[], Any]
    #: Whether its zero value is written.
    keeps_zero: bool
    #: Whether any value that was set is written, even an empty one.
    pointer: bool


@cache
def _table() -> dict[str, dict[str, tuple[str, Any, int]]]:
    packed = files("steersman.apiserver").joinpath("data/protobuf.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(packed), type=dict[str, dict[str, tuple[str, Any, int]]])


@cache
def _narrow_integers() -> frozenset[tuple[str, str]]:
    """Give the integer fields of 32 bits, by structure and name."""
    found = set()
    for name, schema in load_types().items():
        parts = name.rsplit(".", 3)
        for key, below in schema.get("properties", {}).items():
            if below.get("format") == "int32":
                found.add((f"{parts[-3]}/{parts[-2]}.{parts[-1]}", key))
    return frozenset(found)


def message_of(gvk: GroupVersionKind) -> str:
    """Give the name of a kind's structure."""
    package = gvk.group.partition(".")[0]
    return f"{_PACKAGES.get(package, package)}/{gvk.version}.{gvk.kind}"


class Struct:
    """One structure, compiled from the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._go_name = name.partition(".")[2]
        self._fields: dict[str, _Field] | None = None
        #: Field → the structures among whose fields it stands here; complaints name them.
        self._embedded: dict[str, tuple[str, ...]] = {}

    @property
    def fields(self) -> dict[str, _Field]:
        """The fields in their order; made when first asked for, since structures may contain themselves."""
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

    def read(self, value: Any, path: str, reading: Reading) -> Document:
        """Read an object; what the structure does not know is noted and dropped."""
        if value.__class__ is not dict:
            if value is None:
                return self.zero()
            raise reading.refuse(value, self.name.partition("/")[2])
        before = reading.record, reading.trail
        found: Document = {}
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

    def zero(self) -> Document:
        """Give what is written of a structure in which nothing was set."""
        return self._written({}, None)

    def _written(self, found: Document, marking: Reading | None) -> Document:
        """Give the fields that are written, in their order; ``marking`` those that were given empty, too."""
        written: Document = {}
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


def _is_set(value: Any) -> bool:
    return bool(value) if value.__class__ in (str, int, bool, float, list, dict) else value is not None


@cache
def struct(name: str) -> Struct:
    """Give a structure by its name."""
    return Struct(name)


def has_struct(gvk: GroupVersionKind) -> bool:
    """Tell whether the table knows a kind."""
    return message_of(gvk) in _table()


def _field(message: str, name: str, kind: Any, flags: int) -> _Field:
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


def _reader(message: str, name: str, kind: Any) -> tuple[Read, Callable[[], Any], bool]:
    """Give how a type is read, its zero, and whether it is a structure."""
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
    def read(value: Any, path: str, reading: Reading) -> Any:
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
    def read(value: Any, path: str, reading: Reading) -> Any:
        if value is None:
            return None
        if value.__class__ is not dict:
            raise reading.refuse(value, _MAP_NAMES.get(item, "map[string]v1.Item"))
        return {key: item(part, f"{path}.{key}", reading) for key, part in value.items()}

    return read


#: How Go calls maps of such values.
_MAP_NAMES: dict[Read, str] = {}


def _any(value: Any, path: str, reading: Reading) -> Any:
    del path, reading
    return value


_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def _bytes(value: Any, path: str, reading: Reading) -> Any:
    del path
    if value is None:
        return ""
    if value.__class__ is not str:
        raise reading.refuse(value, "[]uint8")
    text = re.sub(r"[\r\n]", "", value)
    if _BASE64.fullmatch(text) is None:
        raise WireTypeError(f"illegal base64 data at input byte {_bad_base64(text)}")
    # Once more, as the last bits of what ends early may have been anything.
    return base64.b64encode(base64.b64decode(text)).decode()


def _bad_base64(text: str) -> int:
    """Give the place at which Go stops reading base64: a wrong byte's, or where a group begins that has no end."""
    data = text.encode()
    full = len(_match(rb"(?:[A-Za-z0-9+/]{4})*", data))
    rest = len(_match(rb"[A-Za-z0-9+/]*", data[full:]))
    padding = _match(rb"={0,2}", data[full + rest :])
    if full + rest == len(data):
        return full
    if rest + len(padding) == 4 or (rest, padding) == (3, b"=="):  # noqa: PLR2004 - the bytes of a group
        return full + 4
    is_short = rest == 2 and full + rest + len(padding) == len(data)  # noqa: PLR2004 - what needs two signs of padding
    return len(data) if is_short else full + rest


def _match(pattern: bytes, data: bytes) -> bytes:
    found = re.match(pattern, data)
    return found[0] if found else b""


def _quantity(value: Any, path: str, reading: Reading) -> Any:
    del path, reading
    if value is None:
        return "0"
    if value.__class__ not in (str, int, float):
        raise WireTypeError(_QUANTITY_RULE)
    try:
        return Quantity(value if value.__class__ is not str else value.strip()).canonical()
    except ValueError:
        raise WireTypeError(_QUANTITY_RULE) from None


def _parsed_time(value: Any, layout: str) -> str:
    if value.__class__ is not str:
        raise WireTypeError(f"json: cannot unmarshal {_WORDS[value.__class__]} into Go value of type string")
    if not is_go_time(value):
        shown = json_string(value)
        raise WireTypeError(f'parsing time {shown} as "{layout}": cannot parse {shown} as "2006"')
    return value


_WORDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def _time(value: Any, path: str, reading: Reading) -> Any:
    del path, reading
    return None if value is None else format_time(parse_time(_parsed_time(value, _TIME_LAYOUT)))


_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)")


def _micro_time(value: Any, path: str, reading: Reading) -> Any:
    del path, reading
    if value is None:
        return None
    text = _parsed_time(value, _MICRO_LAYOUT)
    if not _MICRO.fullmatch(text):
        rest = text[19:]
        raise WireTypeError(f'parsing time "{text}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as ".000000"')
    return parse_time(text).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _duration(value: Any, path: str, reading: Reading) -> Any:
    del path
    if value is None:
        return "0s"
    if value.__class__ is not str:
        raise reading.refuse(value, "string")
    try:
        return str(Duration.parse(value))
    except ValueError:
        raise WireTypeError(f'time: invalid duration "{value}"') from None


def _int_or_string(value: Any, path: str, reading: Reading) -> Any:
    del path
    if value is None:
        return 0
    if value.__class__ is str or (value.__class__ is int and -(2**31) <= value < 2**31):
        return value
    raise reading.refuse(value, "int32")


def _strings(value: Any, path: str, reading: Reading) -> Any:
    return _list(STRING.read)(value, path, reading)


def _schema(value: Any, path: str, reading: Reading) -> Any:
    """Read a schema that Go reads by a function of its own: what it does not know is dropped without a word."""
    if value.__class__ is list:
        return [_schema(part, f"{path}[{index}]", reading) for index, part in enumerate(value)]
    if value.__class__ is not dict:
        # Whether it may stand here is for the rules of definitions to say.
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
