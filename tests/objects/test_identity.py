import pytest

from steersman.errors import DeclarationError
from steersman.objects.identity import (
    ApiResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
    ObjectKey,
)


@pytest.mark.parametrize(("text", "group", "version"), [("v1", "", "v1"), ("apps/v1", "apps", "v1")])
def test_api_version_is_parsed_and_formatted(text: str, group: str, version: str) -> None:
    """The core group has no name, so its apiVersion has no slash."""
    parsed = GroupVersion.parse(text)
    assert parsed == (group, version)
    assert str(parsed) == text


@pytest.mark.parametrize("text", ["", "/v1", "apps/", "a/b/v1", "/"])
def test_invalid_api_version_is_rejected_with_its_value(text: str) -> None:
    """A typing error must not become a strange group."""
    with pytest.raises(ValueError, match="not an apiVersion"):
        GroupVersion.parse(text)


def test_kind_is_read_from_the_two_fields_of_every_object() -> None:
    """An object names its kind by apiVersion and kind."""
    gvk = GroupVersionKind.of("apps/v1", "Deployment")
    assert gvk == ("apps", "v1", "Deployment")
    assert gvk.api_version == "apps/v1"
    assert str(gvk) == "Deployment.v1.apps"
    assert str(GroupVersionKind.of("v1", "Pod")) == "Pod.v1"


def test_resource_is_named_as_in_error_messages() -> None:
    """Servers say ``deployments.apps "a" not found``, and ``pods "a" not found``."""
    assert GroupVersionResource("apps", "v1", "deployments").group_resource == "deployments.apps"
    assert GroupVersionResource("", "v1", "pods").group_resource == "pods"
    assert str(GroupVersionResource("apps", "v1", "deployments")) == "deployments.v1.apps"


@pytest.mark.parametrize(("text", "namespace", "name"), [("ns/a", "ns", "a"), ("a", "", "a")])
def test_key_is_parsed_and_formatted(text: str, namespace: str, name: str) -> None:
    """One form of key, for namespaced and cluster-scoped objects."""
    assert ObjectKey.parse(text) == (namespace, name)
    assert str(ObjectKey(namespace, name)) == text


@pytest.mark.parametrize("text", ["", "ns/", "a/b/c"])
def test_invalid_key_is_rejected_with_its_value(text: str) -> None:
    """An incomplete key must not find another object."""
    with pytest.raises(ValueError, match="not an object key"):
        ObjectKey.parse(text)


def test_declaration_contains_where_a_kind_is_served() -> None:
    """Client and server find path and list kind in one place."""
    resource = ApiResource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments")
    assert resource.gvr == ("apps", "v1", "deployments")
    assert resource.list_kind == "DeploymentList"


@pytest.mark.parametrize("plural", ["", "Pods", "po ds", "a.b", "-a", "a" * 64, "pods\n"])
def test_invalid_plural_is_rejected_at_the_declaration(plural: str) -> None:
    """A plural becomes part of a URL and of a CRD's name."""
    with pytest.raises(DeclarationError, match="DNS label"):
        ApiResource(gvk=GroupVersionKind("a", "v1", "A"), plural=plural)
