"""Constraints of a field beyond its Python type: written in `Annotated`, they become part of the schema.

`replicas: Annotated[int, Minimum(0), Maximum(100)]`. A whole model is constrained by the decorator `constrained`. Each
constraint has the keywords that it sets and the JSON types that it applies to; the Python class itself does not check
them, the API server does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from steersman.errors import DeclarationError
from steersman.json_types import JsonObject
from steersman.objects.model import Model

M = TypeVar("M", bound=type[Model])

#: The reasons that a rule may have.
RuleReason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]

_NUMBERS = frozenset({"integer", "number", "int-or-string"})
_TEXTS = frozenset({"string", "int-or-string"})
_LISTS = frozenset({"array"})
_OBJECTS = frozenset({"object"})


class Constraint:
    """The base of all constraints."""

    #: The JSON types that it applies to; empty means all.
    applies_to: ClassVar[frozenset[str]] = frozenset()

    def apply(self, schema: JsonObject) -> None:
        """Write the constraint into the schema of a value."""
        raise NotImplementedError


class _Keyword(Constraint):
    """A constraint that is one keyword with one value."""

    keyword: ClassVar[str]
    value: Any

    def apply(self, schema: JsonObject) -> None:
        """Write the constraint into the schema of a value."""
        schema[self.keyword] = self.value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


class _Flag(Constraint):
    """A constraint that is one keyword with one possible value."""

    keyword: ClassVar[str]
    value: ClassVar[Any] = True

    def apply(self, schema: JsonObject) -> None:
        """Write the constraint into the schema of a value."""
        schema[self.keyword] = self.value

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Size(_Keyword):
    """A constraint on the number of characters, items or properties."""

    def __init__(self, value: int) -> None:
        if value < 0:
            raise DeclarationError(f"{type(self).__name__}({value}): a size cannot be negative")
        self.value = value


class _Text(_Keyword):
    """A constraint that is a text."""

    def __init__(self, value: str) -> None:
        self.value = value


class _Bound(_Keyword):
    """A least or greatest number."""

    applies_to = _NUMBERS

    def __init__(self, value: float, *, exclusive: bool = False) -> None:
        self.value = value
        self.exclusive = exclusive

    def apply(self, schema: JsonObject) -> None:
        """Write the constraint into the schema of a value."""
        super().apply(schema)
        if self.exclusive:
            schema[f"exclusive{self.keyword.capitalize()}"] = True


class Minimum(_Bound):
    """The least number; `exclusive` leaves it out itself."""

    keyword = "minimum"


class Maximum(_Bound):
    """The greatest number; `exclusive` leaves it out itself."""

    keyword = "maximum"


class MultipleOf(_Keyword):
    """The number that every value is a multiple of."""

    applies_to = _NUMBERS
    keyword = "multipleOf"

    def __init__(self, value: float) -> None:
        if value <= 0:
            raise DeclarationError(f"MultipleOf({value}): the factor must be greater than 0")
        self.value = value


class MinLength(_Size):
    """The least number of characters."""

    applies_to = _TEXTS
    keyword = "minLength"


class MaxLength(_Size):
    """The greatest number of characters."""

    applies_to = _TEXTS
    keyword = "maxLength"


class Pattern(_Text):
    """A regular expression (RE2) that must match somewhere in the text; anchor it with `^` and `$`."""

    applies_to = _TEXTS
    keyword = "pattern"


class Format(_Text):
    """A format, for example `uri`, `email`, `ipv4`, `hostname`, `int32` or `int64`."""

    applies_to = _TEXTS | _NUMBERS
    keyword = "format"


#: Integers of a given width.
Int32 = Annotated[int, Format("int32")]
Int64 = Annotated[int, Format("int64")]


class Enum(_Keyword):
    """The allowed values, for types that do not imply them: `Enum("a", "b")`."""

    keyword = "enum"

    def __init__(self, *values: Any) -> None:
        if not values:
            raise DeclarationError("Enum(): name the values that are allowed")
        self.value = list(values)


class MinItems(_Size):
    """The least number of items of a list."""

    applies_to = _LISTS
    keyword = "minItems"


class MaxItems(_Size):
    """The greatest number of items of a list."""

    applies_to = _LISTS
    keyword = "maxItems"


class MinProperties(_Size):
    """The least number of entries of a dict."""

    applies_to = _OBJECTS
    keyword = "minProperties"


class MaxProperties(_Size):
    """The greatest number of entries of a dict."""

    applies_to = _OBJECTS
    keyword = "maxProperties"


class Description(_Text):
    """The text of `kubectl explain` about a field; a docstring below the field does the same."""

    keyword = "description"


class UniqueItems(_Flag):
    """No item twice. Kubernetes refuses JSON Schema's `uniqueItems`, so this is a list of type `set`."""

    applies_to = _LISTS
    keyword = "x-kubernetes-list-type"
    value = "set"


class ListType(_Keyword):
    """How appliers share a list: `atomic` (one owns all of it) or `set` (each owns some items)."""

    applies_to = _LISTS
    keyword = "x-kubernetes-list-type"

    def __init__(self, value: Literal["atomic", "set"]) -> None:
        self.value = value


class ListMap(_Keyword):
    """A list whose items are identified by some of their fields: `ListMap("name")`; the names are those of Python."""

    applies_to = _LISTS
    keyword = "x-kubernetes-list-map-keys"

    def __init__(self, *keys: str) -> None:
        if not keys:
            raise DeclarationError("ListMap(): name the fields that identify items")
        self.value = list(keys)

    def apply(self, schema: JsonObject) -> None:
        """Write the constraint into the schema of a value."""
        schema["x-kubernetes-list-type"] = "map"
        schema[self.keyword] = list(self.value)


class MapType(_Keyword):
    """How appliers share an object: `granular` (each owns some fields) or `atomic` (one owns all)."""

    applies_to = _OBJECTS
    keyword = "x-kubernetes-map-type"

    def __init__(self, value: Literal["atomic", "granular"]) -> None:
        self.value = value


class Nullable(_Flag):
    """Null is a value, and kept; without this the server drops nulls."""

    keyword = "nullable"


class PreserveUnknown(_Flag):
    """Fields that the schema does not declare are kept."""

    keyword = "x-kubernetes-preserve-unknown-fields"


class Opaque(_Flag):
    """The schema only requires an object; its content is checked by the Python class alone."""

    applies_to = _OBJECTS
    keyword = "x-kubernetes-preserve-unknown-fields"

    def apply(self, schema: JsonObject) -> None:
        """Write the constraint into the schema of a value."""
        for key in ("properties", "required", "additionalProperties"):
            schema.pop(key, None)
        super().apply(schema)


class EmbeddedResource(_Flag):
    """The object is a whole Kubernetes resource: it has `apiVersion`, `kind` and good metadata."""

    applies_to = _OBJECTS
    keyword = "x-kubernetes-embedded-resource"

    def apply(self, schema: JsonObject) -> None:
        """Write the constraint into the schema of a value."""
        super().apply(schema)
        if not schema.get("properties"):
            PreserveUnknown().apply(schema)


@dataclass(frozen=True, slots=True)
class Rule(Constraint):
    """A rule in CEL that must hold: `Rule("self.min <= self.max", "min must not exceed max")`.

    ``field_path`` names the field that the error is reported at, ``message_expression`` computes the message, and
    ``optional_old_self`` lets a rule about `oldSelf` run on new values too.
    """

    cel: str
    message: str = ""
    field_path: str = ""
    reason: RuleReason | None = None
    message_expression: str = ""
    optional_old_self: bool = False

    def apply(self, schema: JsonObject) -> None:
        """Write the constraint into the schema of a value."""
        rule: JsonObject = {"rule": self.cel}
        texts = {
            "message": self.message,
            "messageExpression": self.message_expression,
            "reason": self.reason,
            "fieldPath": self.field_path,
            "optionalOldSelf": self.optional_old_self,
        }
        rule |= {key: value for key, value in texts.items() if value}
        schema.setdefault("x-kubernetes-validations", []).append(rule)


class Immutable(Constraint):
    """The value cannot be changed while it is set; an optional field can still be removed and set again."""

    def __init__(self, message: str = "field is immutable") -> None:
        self.message = message

    def apply(self, schema: JsonObject) -> None:
        """Write the constraint into the schema of a value."""
        Rule("self == oldSelf", self.message).apply(schema)


_CONSTRAINTS = "__constraints__"


def constrained(*constraints: Constraint) -> Callable[[M], M]:
    """Return a decorator that constrains a whole model: rules about several fields, or `PreserveUnknown()`."""

    def decorate(model: M) -> M:
        type.__setattr__(model, _CONSTRAINTS, constraints)
        return model

    return decorate


def constraints_of(model: type) -> list[Constraint]:
    """Return the constraints of a model and of the models that it extends, base first."""
    found: list[Constraint] = []
    for base in reversed(model.__mro__):
        found += base.__dict__.get(_CONSTRAINTS, ())
    return found
