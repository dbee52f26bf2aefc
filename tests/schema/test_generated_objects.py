"""Objects generated from schemas: valid, varied, repeatable."""

from typing import Annotated, Any, Literal

import pytest

from steersman.errors import DeclarationError
from steersman.objects.model import Model
from steersman.objects.registry import Registry
from steersman.objects.resource import Resource, Status
from steersman.schema import (
    Enum,
    Format,
    ListMap,
    Maximum,
    MaxLength,
    Minimum,
    MinItems,
    MinLength,
    MultipleOf,
    Pattern,
    PreserveUnknown,
    Rule,
    custom_resource,
)
from steersman.schema.crd import schema_of
from steersman.schema.generated_objects import generated
from steersman.schema.round_trips import losses
from steersman.schema.versions import Versions
from steersman.structural.compiled import CompiledSchema, compile_schema
from steersman.testing.round_trips import assert_round_trips
from tests.support.websites import KINDS, Website


class Port(Model):
    """An item with a key."""

    name: Annotated[str, MinLength(3), MaxLength(4)]
    number: Annotated[int, Minimum(1), Maximum(65535)]


class Spec(Model):
    """A spec with one field of every sort."""

    ports: Annotated[list[Port], ListMap("name"), MinItems(1)]
    level: Annotated[int, Minimum(10), MultipleOf(5)]
    cooler: Annotated[int, Maximum(-3)] | None = None
    ratio: Annotated[float, Minimum(0, exclusive=True), Maximum(1)] = 0.5
    mode: Literal["fast", "slow"] = "fast"
    size: Annotated[str, Enum("s", "m")] = "s"
    schedule: Annotated[str, Pattern(r"^\S+( \S+){4}$")] | None = None
    address: Annotated[str, Format("ipv4")] | None = None
    labels: dict[str, str] = {}
    anything: Annotated[dict[str, Any], PreserveUnknown()] = {}
    enabled: bool = True


@custom_resource("generated.example.com/v1", into=KINDS)
class Server(Resource[Spec, Status]):
    """A kind with one field of every sort."""


def _schema(kind: Any) -> CompiledSchema:
    return compile_schema(schema_of(kind))


def _made(kind: Any, count: int, seed: int = 0) -> list[dict[str, Any]]:
    gvk = kind.__resource__.gvk
    return list(generated(_schema(kind), gvk.api_version, gvk.kind, count=count, seed=seed))


def test_a_server_accepts_every_object() -> None:
    """A conversion that fails for invalid objects proves nothing."""
    schema = _schema(Server)
    made = _made(Server, 30)
    assert len(made) == 30
    assert [schema.validate(document).errors for document in made] == [[]] * 30


def test_the_first_object_has_every_field_and_the_second_only_required_ones() -> None:
    """Conversions forget fields that are often absent."""
    full, bare = _made(Server, 2)
    assert set(full["spec"]) == set(schema_of(Server)["properties"]["spec"]["properties"])
    assert {"schedule", "address", "cooler"}.isdisjoint(bare["spec"])
    assert "status" not in bare


def test_equal_seeds_generate_equal_objects() -> None:
    """A loss that was found once must be found again."""
    assert _made(Website, 10, seed=3) == _made(Website, 10, seed=3)
    assert _made(Website, 10, seed=3) != _made(Website, 10, seed=4)


def test_a_kind_that_random_values_cannot_satisfy_needs_an_example() -> None:
    """Silence would look like a passed check."""

    class Strange(Model):
        code: Annotated[str, Pattern("^xyzzy-[0-9]{7}$")]

    class StrangeThing(Resource[Strange, Status]):
        """A kind that random values cannot satisfy."""

    class StrangeNewThing(Resource[Strange, Status]):
        """A newer version of it."""

    kinds = Registry()
    one = custom_resource("strange.dev/v1", kind="Strange", storage=True, into=kinds)(StrangeThing)
    two = custom_resource("strange.dev/v2", kind="Strange", into=kinds)(StrangeNewThing)
    with pytest.raises(DeclarationError, match="pass an example of it to assert_round_trips"):
        list(losses(Versions((one, two)), count=3))
    examples = [one(spec=Strange(code="xyzzy-1234567")), two(spec=Strange(code="xyzzy-1234567"))]
    assert_round_trips(one, two, examples=examples)


def test_objects_that_violate_a_rule_are_left_out() -> None:
    """Converters may rely on rules."""

    class Range(Model):
        low: Annotated[int, Minimum(0), Maximum(9)]
        high: Annotated[int, Minimum(0), Maximum(9)]

    class RangeKind(Resource[Range, Status]):
        """A range."""

    rule = Rule("self.spec.low <= self.spec.high")
    kind = custom_resource("rules.dev/v1", kind="Range", rules=[rule], into=Registry())(RangeKind)
    made = _made(kind, 10)
    assert len(made) == 10
    assert all(document["spec"]["low"] <= document["spec"]["high"] for document in made)
