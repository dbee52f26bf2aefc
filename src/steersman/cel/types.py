"""The types of expressions, and how one fits another.

Types are immutable and compared by structure. Type parameters stand for types that are not known yet; a
``Substitution`` records their values.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """What sort of type it is."""

    DYN = auto()
    ERROR = auto()
    NULL = auto()
    BOOL = auto()
    INT = auto()
    UINT = auto()
    DOUBLE = auto()
    STRING = auto()
    BYTES = auto()
    TIMESTAMP = auto()
    DURATION = auto()
    LIST = auto()
    MAP = auto()
    OBJECT = auto()
    OPAQUE = auto()
    TYPE = auto()
    PARAM = auto()


@dataclass(frozen=True, slots=True)
class CelType:
    """A type: its kind, its name as a value of ``type()`` shows it, and its parameters."""

    kind: Kind
    name: str
    params: tuple["CelType", ...] = ()

    def __str__(self) -> str:
        name = _SHOWN.get(self.kind, self.name)
        return f"{name}({', '.join(map(str, self.params))})" if self.params else name


_SHOWN = {
    Kind.ERROR: "!error!",
    Kind.NULL: "null",
    Kind.TIMESTAMP: "timestamp",
    Kind.DURATION: "duration",
}

DYN = CelType(Kind.DYN, "dyn")
ERROR = CelType(Kind.ERROR, "!error!")
NULL = CelType(Kind.NULL, "null_type")
BOOL = CelType(Kind.BOOL, "bool")
INT = CelType(Kind.INT, "int")
UINT = CelType(Kind.UINT, "uint")
DOUBLE = CelType(Kind.DOUBLE, "double")
STRING = CelType(Kind.STRING, "string")
BYTES = CelType(Kind.BYTES, "bytes")
TIMESTAMP = CelType(Kind.TIMESTAMP, "google.protobuf.Timestamp")
DURATION = CelType(Kind.DURATION, "google.protobuf.Duration")
TYPE = CelType(Kind.TYPE, "type")
IP = CelType(Kind.OPAQUE, "net.IP")
CIDR = CelType(Kind.OPAQUE, "net.CIDR")
URL = CelType(Kind.OBJECT, "kubernetes.URL")
QUANTITY = CelType(Kind.OBJECT, "kubernetes.Quantity")
SEMVER = CelType(Kind.OBJECT, "kubernetes.Semver")
NAMED_FORMAT = CelType(Kind.OBJECT, "kubernetes.NamedFormat")
OPTIONAL_NAME = "optional_type"


def list_of(item: CelType) -> CelType:
    """Return the type of lists with such items."""
    return CelType(Kind.LIST, "list", (item,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of maps with such keys and values."""
    return CelType(Kind.MAP, "map", (key, value))


def optional_of(value: CelType) -> CelType:
    """Return the type of a value that may be absent."""
    return CelType(Kind.OPAQUE, OPTIONAL_NAME, (value,))


def type_of(value: CelType) -> CelType:
    """Return the type of the type itself."""
    return CelType(Kind.TYPE, "type", (value,))


def param(name: str) -> CelType:
    """Return a type parameter."""
    return CelType(Kind.PARAM, name)


def object_type(name: str) -> CelType:
    """Return a type whose fields are declared elsewhere."""
    return CelType(Kind.OBJECT, name)


def unwrap_optional(wrapped: CelType) -> tuple[CelType, bool]:
    """Return the type inside an optional, and whether it was one."""
    if wrapped.kind is Kind.OPAQUE and wrapped.name == OPTIONAL_NAME:
        return wrapped.params[0], True
    return wrapped, False


def is_dyn_or_error(candidate: CelType) -> bool:
    """Return whether everything fits this type."""
    return candidate.kind is Kind.DYN or candidate.kind is Kind.ERROR


_NULLABLE = frozenset({Kind.OPAQUE, Kind.OBJECT, Kind.DURATION, Kind.TIMESTAMP, Kind.NULL})
_COMPOUND = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


class Substitution:
    """What type parameters stand for; ``fits`` and ``all_fit`` extend it, or leave it alone when they fail."""

    __slots__ = ("_bound", "_changes", "_counter")

    def __init__(self) -> None:
        self._bound: dict[str, CelType] = {}
        #: What the current attempt changed, and how it was before.
        self._changes: list[tuple[str, CelType | None]] = []
        self._counter = 0

    def fresh(self) -> CelType:
        """Return an unused type parameter."""
        self._counter += 1
        return param(f"_var{self._counter - 1}")

    def fits(self, first: CelType, second: CelType) -> bool:
        """Return whether the two types can be one, and record what that implies for type parameters."""
        return self.all_fit((first,), (second,))

    def all_fit(self, firsts: Sequence[CelType], seconds: Sequence[CelType]) -> bool:
        """Return whether the types of two lists can be the same, pair by pair."""
        self._changes.clear()
        if self._fit_all(firsts, seconds):
            return True
        for name, before in reversed(self._changes):
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def apply(self, subject: CelType, *, unknown_is_dyn: bool = False) -> CelType:
        """Return a type with known type parameters replaced; the others stay, or become dyn."""
        if subject.kind is Kind.PARAM:
            bound = self._bound.get(subject.name)
            if bound is not None:
                return self.apply(bound, unknown_is_dyn=unknown_is_dyn)
            return DYN if unknown_is_dyn else subject
        if not subject.params:
            return subject
        params = tuple(self.apply(inner, unknown_is_dyn=unknown_is_dyn) for inner in subject.params)
        return CelType(subject.kind, subject.name, params)

    def _fit_all(self, firsts: Iterable[CelType], seconds: Sequence[CelType]) -> bool:
        firsts = tuple(firsts)
        return len(firsts) == len(seconds) and all(map(self._fit, firsts, seconds))

    def _fit(self, first: CelType, second: CelType) -> bool:
        if second.kind is Kind.PARAM:
            valid, known = self._bind(second, first)
            if valid or known:
                return valid
        if first.kind is Kind.PARAM:
            return self._bind(first, second)[0]
        if is_dyn_or_error(first) or is_dyn_or_error(second):
            return True
        return self._fit_known(first, second)

    def _fit_known(self, first: CelType, second: CelType) -> bool:
        if first.kind is Kind.NULL:
            return second.kind in _NULLABLE
        if second.kind is Kind.NULL:
            return first.kind in _NULLABLE
        if first.kind is Kind.TYPE or first.kind is not second.kind:
            return first.kind is second.kind
        if first.kind in _COMPOUND:
            return first.name == second.name and self._fit_all(first.params, second.params)
        return first == second

    def _bind(self, parameter: CelType, other: CelType) -> tuple[bool, bool]:
        """Bind a parameter to the other type; return whether that is possible, and whether it was bound."""
        if parameter == other:
            return True, True
        bound = self._bound.get(parameter.name)
        if bound is not None:
            if other == bound:
                return True, True
            if not self._fit(other, bound):
                return False, True
            general = other if _is_more_general(other, bound) else bound
            if not self._occurs(parameter, general):
                self._set(parameter.name, general)
            return True, True
        if self._occurs(parameter, other):
            return False, False
        self._set(parameter.name, other)
        return True, False

    def _set(self, name: str, value: CelType) -> None:
        self._changes.append((name, self._bound.get(name)))
        self._bound[name] = value

    def _occurs(self, parameter: CelType, within: CelType) -> bool:
        if parameter == within:
            return True
        if within.kind is Kind.PARAM:
            bound = self._bound.get(within.name)
            return bound is not None and self._occurs(parameter, bound)
        return any(self._occurs(parameter, inner) for inner in within.params)


def most_general(first: CelType, second: CelType) -> CelType:
    """Return the less specific of two types that fit each other."""
    return first if _is_more_general(first, second) else second


def _is_more_general(first: CelType, second: CelType) -> bool:
    if first.kind in (Kind.DYN, Kind.PARAM):
        return True
    if second.kind in (Kind.DYN, Kind.PARAM) or first.kind is not second.kind:
        return False
    if first.kind is Kind.TYPE:
        return True
    if first.kind in _COMPOUND:
        return (
            first.name == second.name
            and len(first.params) == len(second.params)
            and all(map(_is_more_general, first.params, second.params))
        )
    return first == second
