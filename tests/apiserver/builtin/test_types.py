import pytest

from steersman.apiserver.builtin.types import definition_of, empty_object, load_types, resolve, type_of
from steersman.apiserver.managed_fields.typed import TypeMismatch, checked_fields_of
from steersman.objects.identity import GroupVersionKind

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def test_every_kind_has_a_definition() -> None:
    """The server serves every built-in kind, and its OpenAPI schema."""
    assert len(load_types()) == 771
    assert definition_of(DEPLOYMENT) == "io.k8s.api.apps.v1.Deployment"
    with pytest.raises(KeyError):
        definition_of(GroupVersionKind("apps", "v1", "Nothing"))


def test_every_reference_leads_to_a_definition() -> None:
    """A missing one would fail at the first request for its kind."""
    for name, schema in load_types().items():
        for below in schema.get("properties", {}).values():
            assert resolve(below) is not None, name
            if "items" in below:
                assert resolve(below["items"]) is not None, name


def test_lists_have_their_keys_with_defaults() -> None:
    """A port without a protocol is owned under the default protocol TCP."""
    pod_spec = type_of(GroupVersionKind("", "v1", "Pod")).map
    assert pod_spec is not None
    containers = pod_spec.fields["spec"].map.fields["containers"].list  # type: ignore[union-attr]  # a pod has a spec
    assert containers is not None
    ports = containers.element.map.fields["ports"].list  # type: ignore[union-attr]  # containers are objects
    assert ports is not None
    assert ports.element_of({"containerPort": 80}) == 'k:{"containerPort":80,"protocol":"TCP"}'


def test_recursive_definitions_become_cyclic_types() -> None:
    """A JSON schema contains JSON schemas, to any depth."""
    deep: dict[str, object] = {"type": "string"}
    for _ in range(30):
        deep = {"type": "object", "properties": {"p": deep}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": deep}}
    checked_fields_of({"spec": {"versions": [version]}}, type_of(CRD))
    with pytest.raises(TypeMismatch, match=r"\.spec\.versions\[0\]\.name: expected string"):
        checked_fields_of({"spec": {"versions": [{**version, "name": 1}]}}, type_of(CRD))


def test_an_empty_object_has_the_fields_that_are_always_written() -> None:
    """No manager owns a field that Go's encoder writes even when nothing was set."""
    assert empty_object(DEPLOYMENT) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {},
        "spec": {
            "selector": None,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": None}},
        },
        "status": {},
    }
