"""The values that expressions compute with.

bool, int, float, str, bytes, None and list are Python's own; an unsigned integer, a duration, a timestamp, a type, an
optional and a map literal have classes here. Objects, maps and lists of a custom resource stay as they are and are
looked at through ``steersman.cel.values.shapes``.

A CEL map keeps ``1`` and ``true`` apart and takes ``1``, ``1u`` and ``1.0`` for the same key; a Python dict does not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from steersman.cel.errors import EvaluationError, NoSuchOverload
from steersman.golang.text import float_text
from steersman.json_types import ABSENT

INT_MIN = -(1 << 63)
INT_MAX = (1 << 63) - 1
UINT_MAX = (1 << 64) - 1


class Uint(int):
    """An unsigned 64-bit integer; results of arithmetic are checked and wrapped by the operators."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds."""

    nanos: int

    type_name: ClassVar[str] = "google.protobuf.Duration"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time, in nanoseconds since 1970 in UTC; it is printed in the zone in which it was written."""

    nanos: int
    #: Seconds east of UTC.
    offset: int = field(default=0, compare=False)

    type_name: ClassVar[str] = "google.protobuf.Timestamp"


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: the result of ``type(x)`` and the value of the name ``int``."""

    name: str

    type_name: ClassVar[str] = "type"


@dataclass(frozen=True, slots=True)
class Present:
    """An optional that holds a value."""

    value: Any

    type_name: ClassVar[str] = "optional_type"


@dataclass(frozen=True, slots=True)
class Absent:
    """An optional that holds nothing."""

    type_name: ClassVar[str] = "optional_type"


NONE = Absent()
Optional = Present | Absent


class Opaque:
    """Base of the values that only library functions look into."""

    __slots__ = ()

    type_name: ClassVar[str]

    def equals(self, other: object) -> bool:
        """Return whether another value of the same type is equal; other types have no such overload."""
        if other.__class__ is not self.__class__:
            raise NoSuchOverload
        return bool(self == other)


def map_key(key: object) -> object:
    """Return what a key is looked up by: numbers by their amount, booleans apart from numbers."""
    if key.__class__ is bool:
        return (key,)
    return key


#: The kinds of values that may be keys.
KEY_CLASSES = frozenset({str, int, bool, Uint, float})


class CelMap:
    """A map made by an expression."""

    __slots__ = ("_entries",)

    def __init__(self, pairs: Iterable[tuple[object, object]] = ()) -> None:
        self._entries: dict[Any, tuple[Any, Any]] = {}
        for key, value in pairs:
            if key.__class__ not in KEY_CLASSES:
                raise EvaluationError("unsupported key type")
            self._entries[map_key(key)] = (key, value)

    def insert(self, key: object, value: object, complaint: str) -> None:
        """Add a key that must be new; ``complaint`` is the message if it is not."""
        if key.__class__ not in KEY_CLASSES:
            raise EvaluationError("unsupported key type")
        looked_up = map_key(key)
        if looked_up in self._entries:
            raise EvaluationError(complaint.format(display(key)))
        self._entries[looked_up] = (key, value)

    def with_entry(self, key: object, value: object) -> "CelMap":
        """Return a map that has one key more."""
        copied = CelMap()
        copied._entries = dict(self._entries)
        copied.insert(key, value, "insert failed: key {} already exists")
        return copied

    def find(self, key: object) -> object:
        """Return the value, or ``ABSENT``."""
        found = self._entries.get(map_key(key)) if key.__class__ in KEY_CLASSES else None
        return ABSENT if found is None else found[1]

    def keys(self) -> Iterator[Any]:
        """Yield the keys as written."""
        return (key for key, _ in self._entries.values())

    def items(self) -> Iterator[tuple[object, object]]:
        """Yield keys and values."""
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


class JsonMap:
    """A JSON object without a schema, looked at as a map."""

    __slots__ = ("_raw",)

    type_name: ClassVar[str] = "map"

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = raw

    def find(self, key: object) -> object:
        """Return the value, or ``ABSENT``."""
        return from_json(self._raw[key]) if key.__class__ is str and key in self._raw else ABSENT

    def keys(self) -> Iterator[str]:
        """Yield the keys."""
        return iter(self._raw)

    def items(self) -> Iterator[tuple[str, object]]:
        """Yield keys and values."""
        return ((key, from_json(value)) for key, value in self._raw.items())

    def __len__(self) -> int:
        return len(self._raw)


class ObjectValue:
    """An object that an expression has built, ``Object.spec{replicas: 3}``; its type is the name that it was given."""

    __slots__ = ("fields", "type_name")

    def __init__(self, type_name: str, fields: Mapping[str, Any]) -> None:
        self.type_name = type_name
        self.fields = fields

    def find(self, key: object) -> object:
        """Return the value, or ``ABSENT``."""
        return self.fields[key] if key.__class__ is str and key in self.fields else ABSENT

    def keys(self) -> Iterator[str]:
        """Yield the names of the fields."""
        return iter(self.fields)

    def items(self) -> Iterator[tuple[str, object]]:
        """Yield names and values."""
        return iter(self.fields.items())

    def __len__(self) -> int:
        return len(self.fields)


def from_json(value: object) -> object:
    """Return the CEL value of plain JSON that has no schema."""
    if value.__class__ is dict:
        return JsonMap(value)
    if value.__class__ is list:
        return [from_json(item) for item in value]
    return value


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    CelMap: "map",
}


def type_name(value: Any) -> str:
    """Return the name of a value's type as ``type()`` shows it."""
    known = _NAMES.get(value.__class__)
    if known is not None:
        return known
    name: str = value.type_name
    return name


def check_int(number: int) -> int:
    """Return a result; raises unless it fits into a signed 64-bit integer."""
    if INT_MIN <= number <= INT_MAX:
        return number
    raise EvaluationError("integer overflow")


def check_uint(number: int) -> Uint:
    """Return a result; raises unless it fits into an unsigned 64-bit integer."""
    if 0 <= number <= UINT_MAX:
        return Uint(number)
    raise EvaluationError("unsigned integer overflow")


def display(value: object) -> str:
    """Write a value into an error message as Go prints it."""
    if value.__class__ is bool:
        return "true" if value else "false"
    if value.__class__ is float:
        return float_text(value)
    return str(value)
