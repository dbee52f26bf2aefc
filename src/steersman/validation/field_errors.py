"""`FieldError`: one thing that is wrong with one field, in the words of Kubernetes.

Used for custom objects, for CustomResourceDefinitions and for built-in kinds. A list of them becomes the message and
the causes of a 422 answer; building that answer is not done here.
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from msgspec import Struct

from steersman.errors import Cause
from steersman.golang.text import float_text, json_text, quoted


class ErrorType(enum.Enum):
    """The kind of an error; the value is the word that starts the message and the reason of the cause."""

    NOT_FOUND = ("Not found", "FieldValueNotFound")
    REQUIRED = ("Required value", "FieldValueRequired")
    DUPLICATE = ("Duplicate value", "FieldValueDuplicate")
    INVALID = ("Invalid value", "FieldValueInvalid")
    NOT_SUPPORTED = ("Unsupported value", "FieldValueNotSupported")
    FORBIDDEN = ("Forbidden", "FieldValueForbidden")
    TOO_LONG = ("Too long", "FieldValueTooLong")
    TOO_MANY = ("Too many", "FieldValueTooMany")
    INTERNAL = ("Internal error", "InternalError")
    TYPE_INVALID = ("Invalid value", "FieldValueTypeInvalid")


class _Omitted(enum.Enum):
    OMITTED = enum.auto()

    def __repr__(self) -> str:
        return "OMITTED"


#: The bad value of an error that shows none.
OMITTED: Final = _Omitted.OMITTED

#: The field of an error that concerns no field: Go prints a nil path so.
NO_FIELD: Final = "<nil>"

_VALUELESS = frozenset({ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL})


def value_text(value: object) -> str:
    """Write a bad value as Kubernetes' messages do."""
    if value.__class__ is str:
        return quoted(value)
    if value.__class__ is float:
        return float_text(value)
    return json_text(value)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One broken rule: its type, where, the value that breaks it, and why."""

    type: ErrorType
    field: str
    value: Any = OMITTED
    detail: str = ""

    @property
    def reason(self) -> str:
        """The reason of the cause: such as ``FieldValueInvalid``."""
        return self.type.value[1]

    @property
    def message(self) -> str:
        """The message of the cause: without the field."""
        text = self.type.value[0]
        if self.type not in _VALUELESS and self.value is not OMITTED:
            text = f"{text}: {value_text(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    @property
    def cause(self) -> Cause:
        """The entry in ``Status.details.causes``."""
        return Cause(self.reason, self.message, self.field)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


#: What a validation function returns: one entry per rejected field.
Errors: TypeAlias = list[FieldError]


def required(field: str, detail: str = "") -> FieldError:
    """Return the error that a required field is missing."""
    return FieldError(ErrorType.REQUIRED, field, "", detail)


def invalid(field: str, value: object, detail: str) -> FieldError:
    """Return the error that a value breaks a rule."""
    return FieldError(ErrorType.INVALID, field, value, detail)


def duplicate(field: str, value: object) -> FieldError:
    """Return the error that a value occurs twice."""
    return FieldError(ErrorType.DUPLICATE, field, value)


def forbidden(field: str, detail: str) -> FieldError:
    """Return the error that a field may not be set."""
    return FieldError(ErrorType.FORBIDDEN, field, "", detail)


def not_supported(field: str, value: object, supported: Iterable[str]) -> FieldError:
    """Return the error that a value is not one of the allowed ones, which are listed in the given order."""
    return FieldError(
        ErrorType.NOT_SUPPORTED, field, value, "supported values: " + ", ".join(quoted(text) for text in supported)
    )


def too_long(field: str, limit: int) -> FieldError:
    """Return the error that a text is too long; Kubernetes says bytes even where it counts characters."""
    unit = "byte" if limit == 1 else "bytes"
    detail = f"may not be more than {limit} {unit}" if limit >= 0 else "value is too long"
    return FieldError(ErrorType.TOO_LONG, field, "", detail)


def too_many(field: str, actual: int, limit: int) -> FieldError:
    """Return the error that there are too many items."""
    unit = "item" if limit == 1 else "items"
    detail = f"must have at most {limit} {unit}" if limit >= 0 else "has too many items"
    return FieldError(ErrorType.TOO_MANY, field, actual, detail)


def internal(field: str, detail: str) -> FieldError:
    """Return the error that the server itself could not check a field."""
    return FieldError(ErrorType.INTERNAL, field, "", detail)


def aggregate(errors: Sequence[FieldError]) -> str:
    """Join errors into one text without duplicates."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def invalid_message(errors: Sequence[FieldError], *, kind: str, group: str = "", name: str = "") -> str:
    """Return the message of the 422 answer: ``Widget.demo.dev "a" is invalid: …``."""
    qualified = f"{kind}.{group}" if group else kind
    return f'{qualified} "{name}" is invalid: {aggregate(errors)}'


class ValidationResult(Struct, frozen=True):
    """The errors and warnings about an object. It is valid without errors; warnings are sent with the response."""

    errors: list[FieldError]
    warnings: list[str]
