"""The schema of Python types, constraints, defaults and docstrings."""

import enum
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal

import pytest

from steersman.errors import DeclarationError
from steersman.kinds.core_v1 import ConfigMap, PodTemplateSpec
from steersman.objects.meta import Condition
from steersman.objects.model import Model, sparse
from steersman.objects.quantity import Quantity
from steersman.objects.resource import Status
from steersman.objects.times import Duration
from steersman.schema import (
    Description,
    EmbeddedResource,
    Enum,
    Format,
    Immutable,
    Int32,
    Int64,
    ListMap,
    ListType,
    MapType,
    Maximum,
    MaxItems,
    MaxLength,
    MaxProperties,
    Minimum,
    MinItems,
    MinLength,
    MinProperties,
    MultipleOf,
    Nullable,
    Opaque,
    Pattern,
    PreserveUnknown,
    Rule,
    UniqueItems,
    constrained,
)
from steersman.schema.type_tree import Origin, TypeTree


class Color(enum.StrEnum):
    """Colours."""

    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    """Sizes."""

    SMALL = 1
    LARGE = 2


class Point(Model):
    """A place."""

    x_axis: int
    y_axis: int = 0
    """How high."""


class Tree(Model):
    """A type that contains itself, two steps down."""

    branches: list["Branch"] = sparse(list)


class Branch(Model):
    """A type that refers back to the tree."""

    tree: Tree | None = None


class Forest(Model):
    """A type with an opaque recursive field."""

    tree: Annotated[Tree | None, Opaque()] = None


def schema_of(wanted: Any) -> dict[str, Any]:
    """Return the schema of a type."""
    return TypeTree().schema(wanted, "", Origin(Point, "x_axis"))


PRESERVED = {"x-kubernetes-preserve-unknown-fields": True}
POINT = {
    "type": "object",
    "description": "A place.",
    "required": ["xAxis"],
    "properties": {
        "xAxis": {"type": "integer"},
        "yAxis": {"type": "integer", "default": 0, "description": "How high."},
    },
}


@pytest.mark.parametrize(
    ("wanted", "schema"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (int, {"type": "integer"}),
        (Int32, {"type": "integer", "format": "int32"}),
        (Int64, {"type": "integer", "format": "int64"}),
        (float, {"type": "number"}),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}),
        (Duration, {"type": "string", "format": "duration"}),
        (Quantity, {"x-kubernetes-int-or-string": True}),
        (int | str, {"x-kubernetes-int-or-string": True}),
        (str | None, {"type": "string"}),
        (Any, PRESERVED),
        (dict[str, Any], {"type": "object", **PRESERVED}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Size, {"type": "integer", "enum": [1, 2]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Point, POINT),
        (list[Point | None], {"type": "array", "items": POINT}),
        (Annotated[Tree, Opaque()] | None, {"type": "object", **PRESERVED}),
        (list[Annotated[Tree, Opaque()]], {"type": "array", "items": {"type": "object", **PRESERVED}}),
    ],
)
def test_a_type_has_its_schema(wanted: Any, schema: dict[str, Any]) -> None:
    """The table of types is the contract with authors."""
    assert schema_of(wanted) == schema


@pytest.mark.parametrize(
    ("wanted", "added"),
    [
        (Annotated[int, Minimum(1), Maximum(9)], {"minimum": 1, "maximum": 9}),
        (Annotated[float, Minimum(0, exclusive=True)], {"minimum": 0, "exclusiveMinimum": True}),
        (Annotated[float, Maximum(1, exclusive=True)], {"maximum": 1, "exclusiveMaximum": True}),
        (Annotated[int, MultipleOf(5)], {"multipleOf": 5}),
        (Annotated[str, MinLength(1), MaxLength(9)], {"minLength": 1, "maxLength": 9}),
        (Annotated[str, Pattern("^a")], {"pattern": "^a"}),
        (Annotated[str, Format("ipv4")], {"format": "ipv4"}),
        (Annotated[str, Enum("a", "b")], {"enum": ["a", "b"]}),
        (Annotated[str, Nullable()], {"nullable": True}),
        (Annotated[str, Description("A text.")], {"description": "A text."}),
        (Annotated[list[str], MinItems(1), MaxItems(3)], {"minItems": 1, "maxItems": 3}),
        (Annotated[list[str], UniqueItems()], {"x-kubernetes-list-type": "set"}),
        (Annotated[list[str], ListType("atomic")], {"x-kubernetes-list-type": "atomic"}),
        (Annotated[dict[str, int], MinProperties(1), MaxProperties(3)], {"minProperties": 1, "maxProperties": 3}),
        (Annotated[dict[str, int], MapType("atomic")], {"x-kubernetes-map-type": "atomic"}),
        (Annotated[dict[str, int], PreserveUnknown()], PRESERVED),
        (
            Annotated[dict[str, Any], EmbeddedResource()],
            {"x-kubernetes-embedded-resource": True, **PRESERVED},
        ),
        (
            Annotated[str, Immutable()],
            {"x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "field is immutable"}]},
        ),
        (
            Annotated[
                int,
                Rule(
                    "oldSelf.orValue(0) <= self",
                    "no shrinking",
                    field_path=".a",
                    reason="FieldValueForbidden",
                    message_expression="'no'",
                    optional_old_self=True,
                ),
            ],
            {
                "x-kubernetes-validations": [
                    {
                        "rule": "oldSelf.orValue(0) <= self",
                        "message": "no shrinking",
                        "messageExpression": "'no'",
                        "reason": "FieldValueForbidden",
                        "fieldPath": ".a",
                        "optionalOldSelf": True,
                    }
                ]
            },
        ),
    ],
)
def test_a_constraint_adds_its_keywords(wanted: Any, added: dict[str, Any]) -> None:
    """Constraints combine with the schema of the type."""
    assert schema_of(wanted).items() >= added.items()


def test_keys_of_a_map_list_have_their_wire_names() -> None:
    """Authors name fields in Python; the server knows only their JSON names."""

    class Plan(Model):
        points: Annotated[list[Point], ListMap("x_axis")] = sparse(list)

    schema = TypeTree().model(Plan, "")
    assert schema["properties"]["points"]["x-kubernetes-list-map-keys"] == ["xAxis"]


def test_conditions_are_a_map_list_by_type() -> None:
    """Several writers share the conditions of an object, each owning its own."""
    schema = TypeTree(with_defaults=False).model(Status, "")
    assert schema["properties"]["conditions"]["x-kubernetes-list-map-keys"] == ["type"]
    assert schema["properties"]["observedGeneration"] == {"type": "integer", "format": "int64"}
    assert schema_of(Condition)["required"] == ["type", "status", "lastTransitionTime", "reason", "message"]


def test_a_status_has_no_defaults() -> None:
    """The operator writes the status; a server must not set one."""

    class Found(Model):
        replicas: int = 0

    assert "default" in TypeTree().model(Found, "")["properties"]["replicas"]
    assert "default" not in TypeTree(with_defaults=False).model(Found, "")["properties"]["replicas"]


def test_a_sparse_collection_has_no_default() -> None:
    """It is left out when empty, so the server need not set it."""

    class Found(Model):
        names: list[str] = sparse(list)
        others: list[str] = []

    properties = TypeTree().model(Found, "")["properties"]
    assert "default" not in properties["names"]
    assert properties["others"]["default"] == []


def test_constraints_of_a_model_include_those_of_its_base() -> None:
    """A model that extends another keeps its rules."""

    @constrained(Rule("self.a > 0"))
    class Base(Model):
        a: int

    @constrained(Rule("self.b > 0"))
    class Extended(Base):
        b: int

    rules = TypeTree().model(Extended, "")["x-kubernetes-validations"]
    assert [rule["rule"] for rule in rules] == ["self.a > 0", "self.b > 0"]


def test_a_built_in_part_has_its_whole_schema() -> None:
    """A pod template can be part of a custom resource as of a Deployment."""
    schema = schema_of(PodTemplateSpec)
    containers = schema["properties"]["spec"]["properties"]["containers"]
    assert containers["items"]["properties"]["image"] == {"type": "string"}
    assert schema["properties"]["metadata"]["properties"]["labels"]["type"] == "object"


def test_a_built_in_kind_is_an_embedded_resource() -> None:
    """A whole object inside another keeps its kind, and its metadata is validated."""
    schema = schema_of(ConfigMap)
    assert schema["x-kubernetes-embedded-resource"] is True
    assert "metadata" not in schema["properties"]


def test_an_opaque_type_may_contain_itself() -> None:
    """This supports recursive types: the class decodes them, the schema accepts anything."""
    assert TypeTree().model(Forest, "")["properties"]["tree"] == {"type": "object", **PRESERVED}


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (timedelta, "use steersman.Duration"),
        (complex, "complex has no schema"),
        (list, "declare the type of its items: list"),
        (dict[int, str], "the keys of a dict are str in JSON, not int"),
        (int | float, "the only supported union is int | str"),
        (Literal["a", 1], "the values of an enum must all be texts, or all be numbers"),
        (Annotated[str, Minimum(1)], "Minimum(1) is for int-or-string or integer or number, not for string"),
        (Annotated[int, MaxItems(1)], "MaxItems(1) is for array, not for integer"),
    ],
)
def test_a_type_without_a_schema_is_rejected_with_field_and_file(wanted: Any, text: str) -> None:
    """The author sees what to change, and where, without a server."""
    with pytest.raises(DeclarationError) as refused:
        schema_of(wanted)
    assert text in str(refused.value)
    assert "Point.x_axis" in str(refused.value)
    assert "test_type_tree.py:" in str(refused.value)


def test_a_type_that_contains_itself_is_rejected_with_its_chain() -> None:
    """Structural schemas cannot be recursive; the chain shows where to break it."""
    with pytest.raises(DeclarationError, match=r"Tree → Branch → Tree"):
        schema_of(Tree)


@pytest.mark.parametrize(
    "make",
    [lambda: MultipleOf(0), lambda: MinLength(-1), lambda: MaxItems(-1), Enum, ListMap],
)
def test_a_constraint_that_can_never_hold_is_rejected_at_once(make: Any) -> None:
    """A server would accept some of these and then reject every object."""
    with pytest.raises(DeclarationError):
        make()
