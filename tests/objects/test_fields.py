import sys
from collections.abc import Callable
from textwrap import dedent
from types import ModuleType

import pytest

from steersman.errors import DeclarationError
from steersman.objects.codec import decode_as, encode_json
from steersman.objects.fields import fields_of
from steersman.objects.model import Model
from steersman.objects.resource import Resource

Load = Callable[[str], ModuleType]

FORWARD = """
from typing import ClassVar
from steersman.objects.model import Model, sparse

class Fleet(Model):
    limit: ClassVar[int] = 3
    flagship: "Ship | None" = None
    ships: list["Ship"] = []
    replicas: int = 0
    on: bool = False
    labels: dict[str, str] = sparse(dict)

class Ship(Model):
    masts: int = 2
"""

UNKNOWN = """
from typing import TYPE_CHECKING
from steersman.objects.model import Model
from steersman.objects.resource import Resource

if TYPE_CHECKING:
    from decimal import Decimal

class Price(Model):
    currency: str = "EUR"
    amount: "Decimal | None" = None

class OfferSpec(Model):
    prices: list[Price] = []

class Offer(Resource[OfferSpec, OfferSpec]):
    pass
"""


@pytest.fixture(params=["", "from __future__ import annotations"], ids=["evaluated", "as_text"])
def load(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load a module from its source, with and without postponed annotations."""

    def load_source(source: str) -> ModuleType:
        module = ModuleType("declarations_of_a_test")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        code = compile(f"{request.param}\n{dedent(source)}", "declarations.py", "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - the source stands above
        return module

    return load_source


def test_defaults_are_sent_however_python_stores_annotations(load: Load) -> None:
    """Python 3.14 leaves the annotations out of the class body: all defaults were missing in requests."""
    module = load(FORWARD)
    assert encode_json(module.Fleet()) == b'{"ships":[],"replicas":0,"on":false}'
    fleet = decode_as(module.Fleet, b'{"flagship":{},"ships":[{"masts":3}]}')
    assert fleet.flagship.masts == 2
    assert fleet.ships == [module.Ship(masts=3)]
    assert fleet.labels == {}


@pytest.mark.skipif(sys.version_info < (3, 14), reason="before Python 3.14 a forward reference is a string")
def test_a_forward_reference_needs_no_quotes(load: Load) -> None:
    """PEP 649 exists for this: the names are looked up when they are used."""
    module = load(FORWARD.replace('"', ""))
    assert encode_json(module.Fleet()) == b'{"ships":[],"replicas":0,"on":false}'
    assert decode_as(module.Fleet, b'{"flagship":{}}').flagship.masts == 2


def test_a_class_variable_is_not_a_field(load: Load) -> None:
    """Its value stays what the author wrote."""
    module = load(FORWARD)
    assert module.Fleet.limit == 3
    assert "limit" not in module.Fleet.__struct_fields__


def test_a_type_that_only_type_checkers_know_is_an_error_with_advice(load: Load) -> None:
    """It was a NameError without the class, raised inside a watch."""
    module = load(UNKNOWN)
    advice = r"declarations_of_a_test\.Price\.amount: the type 'Decimal' is not defined .* `if TYPE_CHECKING:`"
    with pytest.raises(DeclarationError, match=advice):
        fields_of(module.Price)
    for part in (module.OfferSpec, list[module.Price], module.Offer):
        with pytest.raises(DeclarationError, match=advice):
            decode_as(part, b"{}")


def test_an_annotation_that_is_not_a_type_is_an_error(load: Load) -> None:
    """A class whose fields cannot be read must not look like one without fields."""
    module = load(
        """
        import enum
        from steersman.objects.model import Model

        class Broken(Model):
            size: "enum.Size" = None
            shape: "int |" = None
        """
    )
    with pytest.raises(DeclarationError, match=r"declarations_of_a_test\.Broken: its fields cannot be read"):
        fields_of(module.Broken)


def test_a_default_without_an_annotation_is_an_error() -> None:
    """The value hid the field, which could neither be set nor sent."""

    class Smaller(Model):
        replicas: int = 1

    with pytest.raises(DeclarationError, match=r"Bigger\.replicas: the field has a value but no annotation"):

        class Bigger(Smaller):
            replicas = 5


def test_a_subclass_overrides_a_default_with_an_annotation() -> None:
    """This is the supported way."""

    class Smaller(Model):
        replicas: int = 1

    class Bigger(Smaller):
        replicas: int = 5

    assert encode_json(Bigger()) == b'{"replicas":5}'


def test_a_resource_of_local_classes_can_be_decoded() -> None:
    """Tests declare kinds inside functions."""

    class Spec(Model):
        size: int = 1

    class Local(Resource[Spec, Spec]):
        pass

    assert {field.name: field.type for field in fields_of(Local)}["spec"] is Spec
