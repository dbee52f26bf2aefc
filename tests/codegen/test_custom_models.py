import ast
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from steersman.codegen.generator import models_of
from steersman.errors import DeclarationError
from steersman.objects.codec import decode, encode_json, to_json
from steersman.objects.identity import GroupVersionKind
from steersman.objects.registry import registry
from steersman.objects.resource import KubeObject
from tests.support.kind_samples import recorded

TEXT = {"type": "string"}
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
CONDITION_TYPE_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
CONDITION = {
    "type": "object",
    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    "properties": {
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "message": {"type": "string", "maxLength": 32768},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "reason": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "type": {"type": "string", "maxLength": 316, "pattern": CONDITION_TYPE_PATTERN},
    },
}
KEY_REFERENCE = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "key": TEXT}}


def definition(schema: dict[str, Any], kind: str = "Harbor", group: str = "sea.example.com") -> dict[str, Any]:
    """Return a CRD with one version."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower(), "shortNames": ["hb"]},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                 "schema": {"openAPIV3Schema": schema}},
            ],
        },
    }  # fmt: skip


def harbor(**spec: Any) -> dict[str, Any]:
    """Return a CRD whose spec has these fields."""
    return definition({"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}})


@pytest.fixture(name="load")
def _load() -> Iterator[Any]:
    """Import generated text as a module, and unload it after the test."""
    loaded: list[str] = []

    def load(definitions: list[dict[str, Any]]) -> ModuleType:
        ((file, source),) = models_of(definitions, "a test").items()
        module = ModuleType(f"generated_{file.removesuffix('.py')}")
        sys.modules[module.__name__] = module
        loaded.append(module.__name__)
        exec(compile(source, file, "exec"), vars(module))  # noqa: S102 - running it is the test
        return module

    yield load
    for name in loaded:
        sys.modules.pop(name, None)


def test_generated_code_looks_handwritten() -> None:
    """This is what a user gets for a CRD of another project."""
    schema = {
        "type": "object",
        "description": "A place for ships.",
        "required": ["spec"],
        "properties": {
            "apiVersion": TEXT,
            "kind": TEXT,
            "metadata": {"type": "object"},
            "spec": {
                "type": "object",
                "description": "What the harbor shall have.",
                "required": ["depth", "berths", "mode"],
                "properties": {
                    "depth": {"type": "integer", "description": "In metres."},
                    "mode": {"type": "string", "enum": ["Open", "Shut"], "default": "Open"},
                    "berths": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["length"],
                            "properties": {"length": {"type": "number"}},
                        },
                    },
                    "loadIP": TEXT,
                    "tokenSecretRef": KEY_REFERENCE,
                    "from": {"type": "array", "items": TEXT},
                    "limits": {
                        "type": "object",
                        "additionalProperties": {
                            "anyOf": [{"type": "integer"}, TEXT],
                            "x-kubernetes-int-or-string": True,
                            "pattern": QUANTITY_PATTERN,
                        },
                    },
                    "surge": {"anyOf": [{"type": "integer"}, TEXT], "x-kubernetes-int-or-string": True},
                    "opened": {"type": "string", "format": "date-time"},
                    "seal": {"type": "string", "format": "byte", "nullable": True},
                    "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            },
            "status": {"type": "object", "properties": {"conditions": {"type": "array", "items": CONDITION}}},
        },
    }
    assert models_of([definition(schema)], "steer generate models") == {
        "sea_v1.py": '''\
# Generated by steer generate models. Do not edit.
"""The kinds of sea.example.com/v1 and their parts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.int_or_string import IntOrString
from steersman.objects.meta import Condition
from steersman.objects.model import Model, absent, field
from steersman.objects.quantity import Quantity
from steersman.objects.registry import declare
from steersman.objects.resource import KubeObject


@declare(
    ApiResource(
        gvk=GroupVersionKind("sea.example.com", "v1", "Harbor"),
        plural="harbors",
        singular="harbor",
        namespaced=True,
        short_names=("hb",),
        subresources=frozenset({"status"}),
    )
)
class Harbor(KubeObject):
    """A place for ships."""

    spec: HarborSpec
    """What the harbor shall have."""
    status: HarborStatus = absent()


class HarborSpec(Model):
    """What the harbor shall have."""

    depth: int
    """In metres."""
    mode: str | None = None
    berths: list[Berth]
    load_ip: str | None = field(default=None, name="loadIP")
    token_secret_ref: TokenSecretRef | None = None
    from_: list[str] | None = None
    limits: dict[str, Quantity] | None = None
    surge: IntOrString | None = None
    opened: datetime | None = None
    seal: bytes | None = None
    extra: dict[str, Any] | None = None


class Berth(Model):
    length: float


class TokenSecretRef(Model):
    name: str
    key: str | None = None


class HarborStatus(Model):
    conditions: list[Condition] | None = None
'''
    }


def test_objects_of_one_shape_share_a_class(load: Any) -> None:
    """A reference that occurs in twenty places is one class."""
    module = load([harbor(a={"type": "object", "properties": {"ref": KEY_REFERENCE}}, ref=KEY_REFERENCE)])
    assert "Ref" in vars(module)
    assert module.HarborSpec.__annotations__["ref"] == module.A.__annotations__["ref"] == "Ref | None"


def test_objects_of_different_shapes_are_named_after_their_owners(load: Any) -> None:
    """The short name would be ambiguous."""
    other = {"type": "object", "properties": {"other": TEXT}}
    module = load([harbor(a={"type": "object", "properties": {"ref": other}}, ref=KEY_REFERENCE)])
    assert {"ARef", "HarborSpecRef"} < set(vars(module))
    assert "Ref" not in vars(module)


def test_definitions_of_one_group_version_share_a_module(load: Any) -> None:
    """Kinds of a group belong together, in any order of the files."""
    part = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"ref": KEY_REFERENCE}}}}
    pair = [definition(part), definition(part, kind="Anchor")]
    module = load(pair)
    assert issubclass(module.Anchor, KubeObject)
    assert issubclass(module.Harbor, KubeObject)
    assert module.AnchorSpec.__annotations__ == module.HarborSpec.__annotations__
    assert models_of(pair, "x") == models_of(pair[::-1], "x")


def test_groups_with_equal_first_labels_get_separate_modules() -> None:
    """No file may overwrite another."""
    part = {"type": "object"}
    files = models_of([definition(part, group="sea.example.com"), definition(part, group="sea.example.org")], "x")
    assert sorted(files) == ["sea_example_com_v1.py", "sea_example_org_v1.py"]


def test_version_that_is_not_served_is_left_out() -> None:
    """Its objects cannot be requested."""
    one = harbor(a=TEXT)
    one["spec"]["versions"].append({**one["spec"]["versions"][0], "name": "v0", "served": False})
    assert list(models_of([one], "x")) == ["sea_v1.py"]


def test_field_with_a_server_side_default_may_be_left_out(load: Any) -> None:
    """Required with a default means that the server checks after setting the default."""
    one = harbor(a={"type": "integer", "default": 3}, b={"type": "integer"})
    one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] = ["a", "b"]
    module = load([one])
    assert encode_json(module.HarborSpec(b=1)) == b'{"b":1}'
    with pytest.raises(TypeError):
        module.HarborSpec(a=1)


def test_kind_with_a_reserved_name_gets_another(load: Any) -> None:
    """A kind of another project may be called Model."""
    module = load([definition({"type": "object", "properties": {"any": TEXT, "name": TEXT}}, kind="Model")])
    obj = decode(module.ModelKind, b'{"metadata":{"name":"a"},"any":"x","name":"y"}')
    assert (obj.name, obj.name_) == ("a", "y")
    assert to_json(obj)["kind"] == "Model"


def test_recorded_objects_are_read_by_the_models_of_their_definitions(load: Any) -> None:
    """Whatever a real server accepted for these schemas must have a place in the classes."""
    definitions = {line["name"]: line["crd"] for line in reversed(list(recorded("schema/crds")))}
    module = load(list(definitions.values()))
    count = 0
    for line in recorded("schema/objects"):
        if line["status"] < 300 and line.get("object"):
            kind = definitions[line["crd"]]["spec"]["names"]["kind"]
            decode(getattr(module, kind), encode_json(line["object"]))
            count += 1
    assert count > 200


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"spec": None}, "spec.names"),
        ({"group": 1}, "spec.group"),
        ({"versions": {}}, "spec.versions"),
        ({"scope": None}, "spec.scope"),
        ({"names": {"kind": "A"}}, "plural"),
        ({"versions": [{"name": "v1"}]}, "schema.openAPIV3Schema"),
    ],
)
def test_an_invalid_crd_is_rejected_with_the_name_of_the_field(change: dict[str, Any], what: str) -> None:
    """The user learns which part of the file is wrong."""
    one = harbor(a=TEXT)
    one["spec"] = change["spec"] if "spec" in change else {**one["spec"], **change}
    with pytest.raises(DeclarationError, match=what):
        models_of([one], "x")


def test_references_are_rejected() -> None:
    """No server accepts them in a CRD."""
    with pytest.raises(DeclarationError, match="cannot refer"):
        models_of([harbor(a={"$ref": "#/x"})], "x")


def test_schema_that_is_nested_too_deeply_is_rejected() -> None:
    """A clear error instead of a crash."""
    schema: dict[str, Any] = TEXT
    for _ in range(5000):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(DeclarationError, match="nested too deeply"):
        models_of([harbor(a=schema)], "x")


HOSTILE = [
    '"""\nimport os\n"""', '"); import os #', "a\nb", "\\", "{}", "__class__", "None", "class", "import os", "self",
    "__init__", "metadata", "x" * 300, "\u202e", "日本", "", " ", "$ref", "list", "Model", "field",
]  # fmt: skip
words = st.sampled_from(HOSTILE) | st.text(max_size=5)
schemas: Any = st.recursive(
    st.fixed_dictionaries({}, optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null", 5, ["string"]]),
        "format": words,
        "description": words,
        "pattern": words,
        "nullable": st.booleans(),
        "x-kubernetes-int-or-string": st.booleans(),
        "default": st.just(1),
    }),
    lambda inner: st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(words, inner | st.just(3), max_size=3)},
        optional={"required": st.lists(words, max_size=2), "description": words},
    )
    | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    | st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner})
    | st.fixed_dictionaries({"allOf": st.lists(inner, max_size=2)}),
    max_leaves=6,
)  # fmt: skip
_ALLOWED = (ast.ImportFrom, ast.ClassDef, ast.Expr)


def assert_only_declarations(tree: ast.Module) -> None:
    """Assert that a module contains only imports of ours, classes and docstrings, and calls only our declarations."""
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert calls <= {"declare", "ApiResource", "GroupVersionKind", "frozenset", "field", "absent"}
    assert not any(isinstance(node, ast.Call) and not isinstance(node.func, ast.Name) for node in ast.walk(tree))
    for node in tree.body:
        assert isinstance(node, _ALLOWED)
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] in {"__future__", "datetime", "typing", "steersman"}
        if isinstance(node, ast.ClassDef):
            assert all(isinstance(member, (ast.AnnAssign, ast.Expr, ast.Pass)) for member in node.body)


@settings(
    max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None
)
@given(schema=schemas, kind=words, group=words, more=words)
def test_no_input_becomes_code(load: Any, schema: Any, kind: str, group: str, more: str) -> None:
    """CRDs come from strangers; their texts stay texts, and the generated module can be imported."""
    one = definition({"type": "object", "properties": {"spec": schema, more: schema}}, kind="A", group=group)
    one["spec"]["names"].update(kind=kind, shortNames=[kind, more], singular=more, categories=[group])
    for source in models_of([one], more).values():
        assert_only_declarations(ast.parse(source))
    module = load([one])
    made = registry.find(GroupVersionKind(group, "v1", kind))
    assert made in vars(module).values()
    inspect.type_info(made)
