"""The OpenAPI document of a custom group, as far as kubectl reads it."""

import yaml

from steersman.schema.openapi import openapi_document
from tests.support.schema_recordings import golden_text

WIDGET = yaml.safe_load(golden_text("widgets-crd.yaml"))
GVK = {"group": "demo.dev", "kind": "Widget", "version": "v1"}


def test_kubectl_finds_the_patch_operation_with_field_validation() -> None:
    """Without it `kubectl apply` refuses to run: it looks for this operation by kind and parameter."""
    document = openapi_document([WIDGET], "demo.dev", "v1")
    patch = document["paths"]["/apis/demo.dev/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == GVK
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}


def test_kubectl_explain_finds_the_kind_and_its_fields() -> None:
    """`explain` looks a component up by its kind, then follows properties and references."""
    schemas = openapi_document([WIDGET], "demo.dev", "v1")["components"]["schemas"]
    widget = schemas["dev.demo.v1.Widget"]
    assert widget["x-kubernetes-group-version-kind"] == [GVK]
    assert widget["properties"]["spec"]["properties"]["color"]["description"] == "Color of it"
    reference = widget["properties"]["metadata"]["allOf"][0]["$ref"].rpartition("/")[2]
    assert "labels" in schemas[reference]["properties"]
    assert schemas["dev.demo.v1.WidgetList"]["properties"]["items"]["items"]["$ref"].endswith("dev.demo.v1.Widget")


def test_every_reference_leads_somewhere() -> None:
    """A document with a dead reference breaks clients in strange places."""
    document = openapi_document([WIDGET], "demo.dev", "v1")
    text = yaml.safe_dump(document)
    names = {line.rpartition("/")[2].strip(" '") for line in text.splitlines() if "$ref" in line}
    assert names
    assert names <= set(document["components"]["schemas"])


def test_subresources_have_paths_of_their_own() -> None:
    """`kubectl patch --subresource=status` and `kubectl scale` use them."""
    paths = openapi_document([WIDGET], "demo.dev", "v1")["paths"]
    base = "/apis/demo.dev/v1/namespaces/{namespace}/widgets/{name}"
    assert {f"{base}/status", f"{base}/scale"} <= set(paths)


def test_other_groups_and_versions_are_passed_over() -> None:
    """A document is about one group and version."""
    assert openapi_document([WIDGET], "demo.dev", "v2")["paths"] == {}
    assert openapi_document([WIDGET], "other.dev", "v1")["paths"] == {}


def test_the_crd_itself_is_not_changed() -> None:
    """The schema is shared with the server's own; describing it must leave it alone."""
    before = yaml.safe_dump(WIDGET)
    openapi_document([WIDGET], "demo.dev", "v1")
    assert yaml.safe_dump(WIDGET) == before
