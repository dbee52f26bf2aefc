"""Classes become kinds, and a real server accepts their CRDs."""

from datetime import datetime
from typing import Annotated, Any

import pytest
import yaml

from steersman.errors import DeclarationError
from steersman.golang.yaml_writer import write_yaml
from steersman.objects.model import Model
from steersman.objects.registry import Registry
from steersman.objects.resource import Resource, Status
from steersman.schema import Column, Immutable, Maximum, Minimum, Pattern, Rule, Scale, constrained, custom_resource
from steersman.schema.crd import crd_object, crd_of
from steersman.schema.declaration import declaration_of, plural_of
from steersman.structural.crd.validation import validate_crd

KINDS = Registry()


class GadgetSpec(Model):
    """The desired state of a gadget."""

    size: Annotated[int, Minimum(1), Maximum(9)]
    color: Annotated[str, Immutable()] = "red"
    until: datetime | None = None


class GadgetSpec2(Model):
    """The desired state of a newer gadget."""

    size: Annotated[int, Minimum(1)]
    shade: str = "red"


@custom_resource(
    "demo.dev/v1",
    short_names=["gd"],
    categories=["all"],
    columns=[Column("Size", ".spec.size"), Column("Until", ".spec.until", priority=1)],
    scale=Scale(spec=".spec.size", status=".status.size"),
    selectable_fields=[".spec.color"],
    deprecated=True,
    deprecation_warning="use v2",
    rules=[Rule("self.metadata.name.size() < 20", "the name is too long")],
    into=KINDS,
)
class Gadget(Resource[GadgetSpec, Status]):
    """A gadget.

    More about it.
    """


@custom_resource("demo.dev/v2", kind="Gadget", storage=True, into=KINDS)
class Gadget2(Resource[GadgetSpec2, Status]):
    """A newer gadget."""


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("FooBar", "foobars"),
        ("Mgors", "mgorses"),
        ("Policy", "policies"),
        ("Gateway", "gateways"),
        ("Box", "boxes"),
        ("Patch", "patches"),
    ],
)
def test_kinds_have_english_plurals(kind: str, plural: str) -> None:
    """The plural is the name in every URL; guessing it well saves authors a line."""
    assert plural_of(kind) == plural


def test_the_crd_contains_the_whole_declaration() -> None:
    """One test of the complete result: nothing may be lost."""
    version = crd_of(Gadget)["spec"]["versions"][0]
    assert version["additionalPrinterColumns"] == [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Until", "type": "date", "priority": 1, "jsonPath": ".spec.until"},
    ]
    assert version["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
    }
    assert version["selectableFields"] == [{"jsonPath": ".spec.color"}]
    assert (version["deprecated"], version["deprecationWarning"]) == (True, "use v2")
    schema = version["schema"]["openAPIV3Schema"]
    assert schema["description"] == "A gadget."
    assert schema["required"] == ["spec"]
    assert schema["x-kubernetes-validations"][0]["message"] == "the name is too long"


def test_versions_of_a_kind_share_a_crd_with_one_stored_version() -> None:
    """Several classes and one CRD are the way to change an API."""
    crd = crd_of(Gadget, Gadget2)
    assert [(entry["name"], entry["storage"]) for entry in crd["spec"]["versions"]] == [("v1", False), ("v2", True)]
    assert not validate_crd(crd).errors


def test_a_crd_is_the_same_text_every_time_and_reads_back_the_same() -> None:
    """Manifests are committed: a rebuild must not change them."""
    text = write_yaml([crd_of(Gadget)])
    assert write_yaml([crd_of(Gadget)]) == text
    assert yaml.safe_load(text) == crd_of(Gadget)
    assert crd_object(Gadget).spec.names.kind == "Gadget"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"api_version": "v1"}, "a domain with at least one dot"),
        ({"api_version": "Demo.dev/v1"}, "the group 'Demo.dev' is invalid"),
        ({"api_version": "demo.dev/V1"}, "the version 'V1' is invalid"),
        ({"api_version": "demo.dev/v1/x"}, "not an apiVersion"),
        ({"api_version": "x.k8s.io/v1"}, "belongs to the Kubernetes community"),
        ({"plural": "Gadgets"}, "must be a DNS label"),
        ({"singular": "ga_dget"}, "the singular 'ga_dget' is invalid"),
        ({"kind": "Ga dget"}, "the kind 'Ga dget' is invalid"),
        ({"short_names": ["G"]}, "the short name 'G' is invalid"),
        ({"categories": ["all!"]}, "the category 'all!' is invalid"),
        ({"deprecation_warning": "use v2"}, "pass deprecated=True"),
    ],
)
def test_an_invalid_declaration_is_rejected_when_the_class_is_created(options: dict[str, Any], text: str) -> None:
    """The message has the class, its file and what to do, before any server is involved."""
    with pytest.raises(DeclarationError) as refused:

        @custom_resource(**{"api_version": "demo.dev/v1", "into": Registry(), **options})
        class Bad(Resource[GadgetSpec, Status]):
            pass

    assert text in str(refused.value)
    assert "Bad" in str(refused.value)
    assert "test_declaration.py:" in str(refused.value)


def declared(spec: type[Model], **options: Any) -> type[Resource[Any, Any]]:
    """Declare a kind with a spec."""

    class Bad(Resource[spec, Status]):  # type: ignore[valid-type]  # made for one test
        pass

    return custom_resource("demo.dev/v1", into=Registry(), **options)(Bad)


class BadDefault(Model):
    """A default that violates its own rule."""

    replicas: Annotated[int, Maximum(3)] = 5


class BadPattern(Model):
    """An invalid pattern."""

    name: Annotated[str, Pattern("[")]


class BadRule(Model):
    """A rule about a field that does not exist."""

    ports: Annotated[list[int], Rule("self.zz == 1")] = []


@constrained(Rule("self.a <"))
class BadModelRule(Model):
    """A rule with a syntax error."""

    a: int


class CostlyRule(Model):
    """A rule that compares everything with everything."""

    names: Annotated[list[str], Rule("self.all(x, self.all(y, x == y))")] = []


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        (BadDefault, "BadDefault.replicas", "should be less than or equal to 3"),
        (BadPattern, "BadPattern.name", "must be a valid regular expression"),
        (BadRule, "BadRule.ports", "compilation failed"),
        (BadModelRule, "BadModelRule", "Syntax error"),
        (CostlyRule, "CostlyRule.names", "estimated rule cost exceeds budget"),
    ],
)
def test_what_a_server_would_reject_is_reported_with_the_python_field(spec: type[Model], field: str, text: str) -> None:
    """The server's own message, with the author's file and field in front."""
    with pytest.raises(DeclarationError) as refused:
        crd_of(declared(spec))
    assert text in str(refused.value)
    assert f"{field} (" in str(refused.value)
    assert "test_declaration.py:" in str(refused.value)


def test_a_selectable_field_must_exist() -> None:
    """A selector on a missing field would silently select nothing."""
    with pytest.raises(DeclarationError, match="does not refer to a valid field"):
        crd_of(declared(GadgetSpec, selectable_fields=[".spec.nope"]))


def test_a_column_without_a_type_must_refer_to_a_scalar_field() -> None:
    """A column's type is guessed only if the guess is certain."""
    with pytest.raises(DeclarationError, match="cannot be derived from the schema"):
        crd_of(declared(GadgetSpec, columns=[Column("X", ".spec.nope")]))


def test_versions_without_a_storage_version_are_rejected() -> None:
    """A server needs to know which version it stores."""
    other = declared(GadgetSpec, kind="Gadget")
    with pytest.raises(DeclarationError, match="pass storage=True to @custom_resource in one of"):
        crd_of(Gadget, other)


def test_classes_of_different_kinds_cannot_share_a_crd() -> None:
    """Two kinds in one CRD are a mistake."""
    with pytest.raises(DeclarationError, match="their kind differs"):
        crd_of(Gadget, declared(GadgetSpec))


def test_the_error_for_an_undeclared_class_says_how_to_declare_it() -> None:
    """It is the first mistake of many newcomers."""
    with pytest.raises(DeclarationError, match="@custom_resource"):
        declaration_of(GadgetSpec)


@pytest.mark.parametrize("make", [lambda: Column("A", "spec.a"), lambda: Scale(spec=".a", status=".status.b")])
def test_invalid_paths_are_rejected_at_once(make: Any) -> None:
    """Columns and scale contain paths, whose syntax is checked."""
    with pytest.raises(DeclarationError):
        make()
