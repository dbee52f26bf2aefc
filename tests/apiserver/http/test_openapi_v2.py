"""OpenAPI v2: kinds of all resources, and custom resources as a real kube-apiserver describes them."""

from typing import Any

import pytest

from steersman.apiserver.http.openapi_v2_protobuf import encode_document
from tests.apiserver.api import Api

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#: A schema with everything that v2 expresses differently or not.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["a", "nul"],
    "properties": {
        "a": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
        "nul": {"type": "string", "nullable": True},
        "nularr": {"type": "array", "nullable": True, "items": {"type": "string"}},
        "pres": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"x": {"type": "string"}},
        },
        "ios": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "emb": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}},
        "embp": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "lst": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "enum": ["a", "b"]}}},
        },
        "m": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^a", "nullable": True}},
        "one": {
            "type": "object",
            "oneOf": [{"required": ["p"]}],
            "properties": {"p": {"type": "string", "format": "date-time"}},
        },
        "rules": {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]},
    },
}
#: What kube-apiserver v1.36.4 makes of it, without descriptions.
EXPECTED: dict[str, Any] = {
    "type": "object",
    "required": ["a"],
    "properties": {
        "a": {"type": "integer", "maximum": 5, "minimum": 1},
        "emb": {
            "type": "object",
            "required": ["kind", "apiVersion"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
                "spec": {"type": "object"},
            },
            "x-kubernetes-embedded-resource": True,
        },
        "embp": {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "ios": {"x-kubernetes-int-or-string": True},
        "lst": {
            "type": "array",
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "enum": ["a", "b"]}}},
            "x-kubernetes-list-map-keys": ["k"],
            "x-kubernetes-list-type": "map",
        },
        "m": {"type": "object", "additionalProperties": {"pattern": "^a"}},
        "nul": {},
        "nularr": {},
        "one": {"type": "object", "properties": {"p": {"type": "string", "format": "date-time"}}},
        "pres": {"x-kubernetes-preserve-unknown-fields": True},
        "rules": {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]},
    },
}


async def swagger(api: Api) -> dict[str, Any]:
    """Return the document of a server."""
    document: dict[str, Any] = await api.ask("GET", "/openapi/v2")
    return document


async def served(*versions: dict[str, Any]) -> Api:
    """Return a server with a custom resource."""
    api = Api()
    spec = {
        "group": "ex.example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": list(versions),
    }
    body = {"metadata": {"name": "things.ex.example.com"}, "spec": spec}
    answer = await api.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    assert answer.status == 201, answer.body
    return api


def version(name: str, schema: dict[str, Any], *, storage: bool = True) -> dict[str, Any]:
    """Return a version of a definition."""
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


async def test_definitions_and_operations_name_their_kinds() -> None:
    """Older clients find the schema of an object by its kind, and what they may send by the operation of the kind."""
    document = await swagger(Api())
    kind = {"group": "apps", "version": "v1", "kind": "Deployment"}
    deployment = document["definitions"]["io.k8s.api.apps.v1.Deployment"]
    assert deployment["x-kubernetes-group-version-kind"] == [kind]
    assert deployment["properties"]["spec"] == {"$ref": "#/definitions/io.k8s.api.apps.v1.DeploymentSpec"}
    paths = document["paths"]
    assert (
        paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["get"]["x-kubernetes-group-version-kind"]
        == kind
    )
    evict = paths["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
    assert evict["x-kubernetes-group-version-kind"]["kind"] == "Eviction"
    listed = paths["/api/v1/configmaps"]["get"]["responses"]["200"]["schema"]
    assert listed == {"$ref": "#/definitions/io.k8s.api.core.v1.ConfigMapList"}


async def test_a_custom_resource_is_described_in_the_words_of_v2() -> None:
    """Words that v2 lacks must be left out exactly as Kubernetes does, or kubectl rejects valid objects."""
    api = await served(version("v1", {"type": "object", "properties": {"spec": SCHEMA}}))
    thing = (await swagger(api))["definitions"]["com.example.ex.v1.Thing"]
    del thing["properties"]["spec"]["properties"]["emb"]["properties"]["metadata"]["description"]
    assert thing["properties"]["spec"] == EXPECTED


async def test_a_custom_resource_with_unknown_fields_has_no_properties() -> None:
    """With any property in its schema, kubectl would reject all others."""
    api = await served(version("v1", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    thing = (await swagger(api))["definitions"]["com.example.ex.v1.Thing"]
    assert thing.keys() == {"type", "x-kubernetes-group-version-kind"}


async def test_the_document_follows_the_definitions() -> None:
    """Clients that wait for a CRD poll this page."""
    api = await served(version("v1", {"type": "object"}))
    assert "com.example.ex.v1.Thing" in (await swagger(api))["definitions"]
    await api.send("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.ex.example.com")
    assert "com.example.ex.v1.Thing" not in (await swagger(api))["definitions"]


@pytest.mark.parametrize(
    ("accept", "status", "media"),
    [
        ("application/json", 200, "application/json"),
        (f"{PROTOBUF}, application/json", 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"),
        ("application/yaml", 406, ""),
    ],
)
async def test_the_client_chooses_the_form(accept: str, status: int, media: str) -> None:
    """client-go asks for protobuf, people and scripts for JSON."""
    answer = await Api().send("GET", "/openapi/v2", accept=accept)
    assert (answer.status, answer.header("content-type")) == (status, media)


def test_protobuf_has_the_numbers_of_gnostic() -> None:
    """Written by hand from the messages; kubectl of version 1.36 read the whole document in this form."""
    schema = {"type": "object", "x-a": [1], "properties": {"p": {"$ref": "#/d"}}}
    document = {"swagger": "2.0", "info": {"title": "K", "version": "v"}, "paths": {}, "definitions": {"D": schema}}
    extension = b"\xfa\x01\r\n\x03x-a\x12\x06\x12\x04[1]\n"
    properties = b"\xca\x01\x0c\n\n\n\x01p\x12\x05\n\x03#/d"
    content = b"\n\x01D\x12*\xb2\x01\x08\n\x06object" + properties + extension
    assert encode_document(document) == b"\n\x032.0\x12\x06\n\x01K\x12\x01vB\x00J1\n/" + content
