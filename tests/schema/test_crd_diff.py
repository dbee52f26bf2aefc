"""Each change of a CRD is classified by its effect on objects and clients of the old one."""

import copy
from typing import Any

import pytest

from steersman.schema.crd_diff import crd_diff
from steersman.schema.schema_diff import Severity

SAFE, BREAKING, CONVERSION = Severity.SAFE, Severity.BREAKING, Severity.NEEDS_CONVERSION


def version(name: str = "v1", spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a version of a CRD."""
    properties = {"spec": spec or {"type": "object", "properties": {"a": {"type": "integer"}}}}
    schema = {"type": "object", "properties": properties}
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}


def crd(*versions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a CRD."""
    names = {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"]}
    spec = {"group": "demo.dev", "scope": "Namespaced", "names": names, "versions": list(versions or (version(),))}
    return {"spec": {**spec, **more}}


def field(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[Severity, str]]:
    """Compare two CRDs that differ in one field's schema."""
    specs = [{"type": "object", "properties": {"a": schema}} for schema in (old, new)]
    changes = crd_diff(*(crd(version(spec=spec)) for spec in specs))
    return [(change.severity, change.what) for change in changes]


def test_equal_crds_have_no_changes() -> None:
    """A release without changes reports nothing; descriptions do not count."""
    assert crd_diff(crd(), crd()) == []
    assert field({"type": "string"}, {"type": "string", "description": "new words"}) == []


@pytest.mark.parametrize(
    ("old", "new", "severity", "what"),
    [
        ({"type": "integer"}, {"type": "string"}, BREAKING, "type changed from integer to string"),
        ({"type": "integer"}, {"type": "number"}, SAFE, "type changed from integer to number"),
        (
            {"type": "string"},
            {"x-kubernetes-int-or-string": True},
            SAFE,
            "type changed from string to int-or-string",
        ),
        ({"type": "integer"}, {"type": "integer", "maximum": 5}, BREAKING, "maximum 5 added"),
        (
            {"type": "integer", "maximum": 5},
            {"type": "integer", "maximum": 9},
            SAFE,
            "maximum changed from 5 to 9",
        ),
        (
            {"type": "string", "minLength": 1},
            {"type": "string", "minLength": 3},
            BREAKING,
            "minLength changed from 1 to 3",
        ),
        ({"type": "string", "maxLength": 1}, {"type": "string"}, SAFE, "maxLength 1 removed"),
        (
            {"type": "integer", "multipleOf": 6},
            {"type": "integer", "multipleOf": 3},
            SAFE,
            "multipleOf changed from 6 to 3",
        ),
        ({"type": "string"}, {"type": "string", "pattern": "^a"}, BREAKING, "pattern added or changed"),
        ({"type": "string", "format": "uri"}, {"type": "string"}, SAFE, "format removed"),
        (
            {"type": "string", "enum": ["a", "b"]},
            {"type": "string", "enum": ["a"]},
            BREAKING,
            "enum values removed: ['b']",
        ),
        (
            {"type": "string", "enum": ["a"]},
            {"type": "string", "enum": ["a", "b"]},
            SAFE,
            "enum values added: ['b']",
        ),
        ({"type": "string", "nullable": True}, {"type": "string"}, BREAKING, "nullable removed"),
        ({"type": "string"}, {"type": "string", "default": "x"}, SAFE, "default 'x' added"),
        (
            {"type": "string"},
            {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]},
            BREAKING,
            "rule added: self != ''",
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            {"type": "object"},
            BREAKING,
            "x-kubernetes-preserve-unknown-fields removed",
        ),
        (
            {"type": "array", "items": {"type": "integer"}},
            {"type": "array", "items": {"type": "string"}},
            BREAKING,
            "type changed from integer to string",
        ),
        (
            {"type": "object", "properties": {"b": {"type": "string"}}},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
            BREAKING,
            "field required",
        ),
        (
            {"type": "object"},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
            BREAKING,
            "required field added",
        ),
        (
            {"type": "object"},
            {"type": "object", "properties": {"b": {"type": "string"}}},
            SAFE,
            "field added",
        ),
        (
            {"type": "object", "properties": {"b": {"type": "string"}}},
            {"type": "object"},
            BREAKING,
            "field removed: its values are dropped",
        ),
    ],
)
def test_a_change_of_a_field_is_classified(
    old: dict[str, Any], new: dict[str, Any], severity: Severity, what: str
) -> None:
    """A change that rejects, drops or reinterprets valid values is breaking."""
    assert field(old, new) == [(severity, what)]


def test_a_changed_default_is_breaking() -> None:
    """Objects that left the field out mean something else after the release."""
    ((severity, what),) = field({"type": "integer", "default": 1}, {"type": "integer", "default": 2})
    assert severity is BREAKING
    assert "change their meaning" in what


def test_a_changed_list_type_is_breaking() -> None:
    """The managers of server-side apply would own other parts of it than before."""
    items = {"type": "array", "items": {"type": "string"}}
    ((severity, _),) = field(items, {**items, "x-kubernetes-list-type": "set"})
    assert severity is BREAKING


def test_a_dropped_stored_version_is_breaking() -> None:
    """Objects stored in it could not be read any more."""
    old = crd(version("v1"), version("v2", storage=False))
    new = crd(version("v2"))
    changes = {change.path: change for change in crd_diff(old, new)}
    assert changes["spec.versions[v1]"].severity is BREAKING
    assert "migrate" in changes["spec.versions[v1]"].what


def test_a_new_storage_version_needs_a_migration() -> None:
    """Old objects stay in the old version until they are written again."""
    old = crd(version("v1"), version("v2", storage=False))
    new = crd(version("v1", storage=False), version("v2"))
    assert [change.severity for change in crd_diff(old, new)] == [CONVERSION]


def test_a_new_version_with_another_schema_needs_conversion() -> None:
    """Without conversion, fields that only one of two versions has are lost."""
    shape = {"type": "object", "properties": {"b": {"type": "integer"}}}
    changes = crd_diff(crd(version("v1")), crd(version("v1"), version("v2", spec=shape, storage=False)))
    assert {change.severity for change in changes} == {SAFE, CONVERSION}
    assert any("field removed" in change.what for change in changes if change.severity is CONVERSION)


@pytest.mark.parametrize(
    ("change", "severity"),
    [
        ({"scope": "Cluster"}, BREAKING),
        ({"group": "other.dev"}, BREAKING),
        ({"names": {"plural": "gadgets", "kind": "Gizmo", "shortNames": ["gd"]}}, BREAKING),
        ({"names": {"plural": "gadgets", "kind": "Gadget"}}, BREAKING),
        ({"names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd", "g"]}}, SAFE),
    ],
)
def test_changed_names_are_breaking(change: dict[str, Any], severity: Severity) -> None:
    """Another name is another resource; a new short name is harmless."""
    assert [found.severity for found in crd_diff(crd(), crd(**change))] == [severity]


@pytest.mark.parametrize(
    ("change", "severity"),
    [
        ({"served": False}, BREAKING),
        ({"deprecated": True}, SAFE),
        ({"subresources": {"status": {}}}, BREAKING),
        ({"subresources": {"scale": {"specReplicasPath": ".spec.a"}}}, SAFE),
        ({"additionalPrinterColumns": [{"name": "A"}]}, SAFE),
        ({"selectableFields": [{"jsonPath": ".spec.a"}]}, SAFE),
    ],
)
def test_features_of_a_version_are_compared(change: dict[str, Any], severity: Severity) -> None:
    """Serving, subresources, columns and selectors are promises of a version, too."""
    new = copy.deepcopy(crd())
    new["spec"]["versions"][0] |= change
    assert [found.severity for found in crd_diff(crd(), new)] == [severity]
