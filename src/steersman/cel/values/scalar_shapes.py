"""How single values of a custom resource look to an expression: numbers, strings and what formats make of them."""

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from steersman.cel.errors import EvaluationError
from steersman.cel.values.times import parse_date, parse_loose_duration, parse_timestamp

_GO_NAMES = {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map[string]interface {}"}
_GO_LIST = "[]interface {}"


def _go_name(value: object) -> str:
    return _GO_NAMES.get(value.__class__, _GO_LIST)


class Shape(ABC):
    """A schema node as a way of looking at values."""

    __slots__ = ("nullable",)

    def __init__(self, *, nullable: bool = False) -> None:
        self.nullable = nullable

    @property
    def is_plain(self) -> bool:
        """True when JSON that is equal for Python is equal for CEL, and nothing in it can fail to be read."""
        return True

    def wrap(self, value: object) -> object:
        """Return the CEL value that a JSON value is."""
        if value is None:
            if self.nullable:
                return None
            raise EvaluationError("invalid data, got null for schema with nullable=false")
        return self._wrap(value)

    @abstractmethod
    def _wrap(self, value: object) -> object: ...


class IntShape(Shape):
    """``type: integer``."""

    __slots__ = ()

    def _wrap(self, value: object) -> object:
        if value.__class__ is not int:
            raise EvaluationError(f"invalid data, expected int, got {_go_name(value)}")
        return value


class DoubleShape(Shape):
    """``type: number``."""

    __slots__ = ()

    def _wrap(self, value: object) -> object:
        if value.__class__ is not int and value.__class__ is not float:
            raise EvaluationError(f"invalid data, expected float, got {_go_name(value)}")
        return float(value)


class BoolShape(Shape):
    """``type: boolean``."""

    __slots__ = ()

    def _wrap(self, value: object) -> object:
        if value.__class__ is not bool:
            raise EvaluationError(f"invalid data, expected bool, got {_go_name(value)}")
        return value


class StringShape(Shape):
    """``type: string``; with a format that CEL supports, the value of the string."""

    __slots__ = ("_parse", "most")

    def __init__(self, parse: Callable[[str], Any] | None, *, nullable: bool, most: int | None = None) -> None:
        super().__init__(nullable=nullable)
        self._parse = parse
        #: The most characters that the schema allows.
        self.most = most

    @property
    def has_format(self) -> bool:
        """True if the string has a format and is converted to another type."""
        return self._parse is not None

    @property
    def is_plain(self) -> bool:
        """False for formats: different texts may be the same value, and a text may be invalid."""
        return self._parse is None

    def _wrap(self, value: object) -> object:
        if value.__class__ is not str:
            raise EvaluationError(f"invalid data, expected string, got {_go_name(value)}")
        return value if self._parse is None else self._parse(value)


def _duration(text: str) -> object:
    parsed = parse_loose_duration(text)
    if parsed is None:
        raise EvaluationError(f"Invalid duration {text}: unable to parse {text} as duration")
    return parsed


def _date(text: str) -> object:
    parsed = parse_date(text)
    if parsed is None:
        raise EvaluationError(f"Invalid date formatted string {text}: cannot parse it")
    return parsed


def _date_time(text: str) -> object:
    parsed = parse_timestamp(text or "1970-01-01T00:00:00Z")
    if parsed is None:
        raise EvaluationError(f"Invalid date-time formatted string {text}: cannot parse it")
    return parsed


def _bytes(text: str) -> object:
    # Kubernetes decodes the URL-safe alphabet here, although the format is the ordinary one.
    bad = next((place for place, char in enumerate(text) if not (char.isalnum() or char in "-_=\r\n")), None)
    if bad is None:
        try:
            return base64.urlsafe_b64decode(text)
        except binascii.Error:
            bad = len(text)
    raise EvaluationError(f"Invalid byte formatted string {text}: illegal base64 data at input byte {bad}")


class IntOrStringShape(Shape):
    """``x-kubernetes-int-or-string``."""

    __slots__ = ()

    def _wrap(self, value: object) -> object:
        if value.__class__ is not str and value.__class__ is not int:
            raise EvaluationError("invalid data, expected XIntOrString value to be either a string or integer")
        return value


class UnknownShape(Shape):
    """Preserved data without a schema: it can only be compared."""

    __slots__ = ()

    @property
    def is_plain(self) -> bool:
        """False: the value may have any type."""
        return False

    def _wrap(self, value: object) -> object:
        return UnknownValue(value)


class UntypedShape(Shape):
    """A schema without a type."""

    __slots__ = ()

    @property
    def is_plain(self) -> bool:
        """False: it cannot be read."""
        return False

    def _wrap(self, value: object) -> object:
        raise EvaluationError(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with "
            f"x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {_go_name(value)}"
        )


class UnknownValue:
    """A value that CEL does not look into."""

    __slots__ = ("raw",)

    type_name: ClassVar[str] = "unknown"

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownValue) and self.raw == other.raw

    def __hash__(self) -> int:
        return id(self)


#: How the formats that CEL supports read a string.
FORMATS: dict[str, Callable[[str], Any]] = {
    "duration": _duration,
    "date": _date,
    "date-time": _date_time,
    "byte": _bytes,
}
#: The JSON types that need nothing but a look at their class.
SCALARS: dict[str, type[Shape]] = {"integer": IntShape, "number": DoubleShape, "boolean": BoolShape}
