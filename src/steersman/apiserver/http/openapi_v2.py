"""OpenAPI v2 (Swagger): all kinds in one document, for clients that do not read v3.

It is written from the v3 documents (``openapi``) when it is first requested. Swagger has fewer words than v3: what it
cannot express about custom resources is left out by the rules of Kubernetes, which keep kubectl's checks working.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.apiserver.http.openapi import OpenApi
from steersman.apiserver.http.openapi_v2_protobuf import encode_document
from steersman.apiserver.messages.negotiation import accept_clauses
from steersman.apiserver.messages.rendering import compressed
from steersman.json_types import JsonObject
from steersman.objects.codec import encode_json
from steersman.protocol.http import Request, Response

_JSON: Final = "application/json"
_PROTOBUF: Final = (
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)
_V3, _V2 = "#/components/schemas/", "#/definitions/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_PRODUCES = (_JSON, "application/yaml", "application/vnd.kubernetes.protobuf")
#: Types that are a choice in v3 and have one type in v2; all other choices have none.
_CHOICES: Mapping[str, JsonObject] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
}
#: Words of v3 that the v2 document of Kubernetes does not use.
_UNKNOWN = frozenset({"allOf", "anyOf", "oneOf", "not", "nullable", "default"})
_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_BEARER = {"description": "Bearer Token authentication", "type": "apiKey", "name": "authorization", "in": "header"}


class OpenApiV2:
    """Writes and keeps the document of one catalog."""

    def __init__(self, openapi: OpenApi) -> None:
        self._openapi = openapi
        self._index = b""
        #: The document by media type, as far as it was requested.
        self._written: dict[str, bytes] = {}

    def response(self, request: Request) -> Response:
        """Return the document in the form that the client prefers; 406 without a body if there is none."""
        media = next((found for found in map(_media, accept_clauses(request.headers.get("accept", ""))) if found), "")
        cache = ("cache-control", "no-cache, private")
        if not media:
            return Response(406, [cache])
        body, tag = self._document(media)
        headers = [("content-type", media), ("etag", tag), ("vary", "Accept"), cache]
        if request.headers.get("if-none-match") == tag:
            return Response(304, headers)
        return compressed(request, Response(200, headers, body))

    def _document(self, media: str) -> tuple[bytes, str]:
        index = self._openapi.index()
        if index != self._index:
            self._index = index
            self._written.clear()
        if media not in self._written:
            document = _swagger(self._openapi.documents())
            self._written[media] = encode_json(document) if media == _JSON else encode_document(document)
        return self._written[media], f'"{hashlib.sha512(index).hexdigest().upper()}"'


def _media(clause: Any) -> str:
    if clause.media in _PROTOBUF:
        return _PROTOBUF[0]
    return _JSON if clause.media in (_JSON, "application/*", "*/*") else ""


def _swagger(documents: Iterator[JsonObject]) -> JsonObject:
    paths: JsonObject = {}
    definitions: JsonObject = {}
    for document in documents:
        for path, item in document["paths"].items():
            paths[path] = _path_item(item)
        for name, schema in document["components"]["schemas"].items():
            if name not in definitions:
                definitions[name] = _definition(name, schema)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.4"},
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.items())),
        "securityDefinitions": {"BearerToken": _BEARER},
        "security": [{"BearerToken": []}],
    }


def _path_item(item: JsonObject) -> JsonObject:
    made: JsonObject = {}
    for key, value in item.items():
        if key == "parameters":
            made[key] = [_parameter(parameter) for parameter in value]
        else:
            made[key] = _operation(value)
    return made


def _operation(operation: JsonObject) -> JsonObject:
    body = operation.get("requestBody")
    parameters = [_parameter(parameter) for parameter in operation.get("parameters") or ()]
    made: JsonObject = {"consumes": list(body["content"]) if body else ["*/*"], "produces": list(_PRODUCES)}
    made["schemes"] = ["https"]
    if body:
        schema = _reference(next(iter(body["content"].values()))["schema"])
        if operation["x-kubernetes-action"] == "patch":
            schema = {"$ref": f"{_V2}{_META}Patch"}
        parameters = [{"name": "body", "in": "body", "required": True, "schema": schema}, *parameters]
    if parameters:
        made["parameters"] = parameters
    made["responses"] = {code: _response(response) for code, response in operation["responses"].items()}
    for key in ("x-kubernetes-action", "x-kubernetes-group-version-kind"):
        made[key] = operation[key]
    return made


def _parameter(parameter: JsonObject) -> JsonObject:
    made = {"uniqueItems": True, **parameter["schema"], "name": parameter["name"], "in": parameter["in"]}
    return {**made, "required": True} if parameter.get("required") else made


def _response(response: JsonObject) -> JsonObject:
    content = response.get("content") or {}
    schemas = [_reference(media["schema"]) for media in content.values()]
    return {"description": response["description"], **({"schema": schemas[0]} if schemas else {})}


def _reference(schema: JsonObject) -> JsonObject:
    target = schema.get("$ref")
    return {"$ref": _V2 + target.removeprefix(_V3)} if target else schema


def _definition(name: str, schema: JsonObject) -> JsonObject:
    if name in _CHOICES:
        return {**{key: value for key, value in schema.items() if key not in _UNKNOWN}, **_CHOICES[name]}
    if schema.get(_PRESERVES):
        # With any properties, kubectl would reject all others.
        key = "x-kubernetes-group-version-kind"
        return {"type": "object", key: schema[key]}
    return convert_schema(schema)


def convert_schema(schema: JsonObject) -> JsonObject:
    """Return a schema of v3 in the words of v2."""
    everything = schema.get("allOf")
    if everything and "$ref" in everything[0]:
        rest = {"description": schema["description"]} if "description" in schema else {}
        return {**rest, **_reference(everything[0])}
    if "$ref" in schema:
        return _reference(schema)
    made = {key: value for key, value in schema.items() if key not in _UNKNOWN}
    _drop_untyped_parts(made, schema)
    return _converted_parts(made)


def _drop_untyped_parts(made: JsonObject, schema: JsonObject) -> None:
    """Remove the type of values that may be null or anything, and what follows from it."""
    if schema.get("nullable") or schema.get(_PRESERVES):
        # kubectl cannot handle items and properties of values without a type.
        for key in ("items", "properties"):
            made.pop(key, None)
    if schema.get("nullable") or (made.get("type") == "array" and "items" not in made):
        made.pop("type", None)
    if schema.get(_PRESERVES):
        if made.get("type") == "object":
            del made["type"]
        if made.get("x-kubernetes-embedded-resource"):
            _set_required(made, [name for name in made["required"] if name not in ("kind", "apiVersion")])


def _converted_parts(schema: JsonObject) -> JsonObject:
    if properties := schema.get("properties"):
        nullable = {name for name, part in properties.items() if part.get("nullable")}
        _set_required(schema, [name for name in schema.get("required") or () if name not in nullable])
        schema["properties"] = {name: convert_schema(part) for name, part in properties.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            schema[key] = convert_schema(schema[key])
    return schema


def _set_required(schema: JsonObject, names: list[str]) -> None:
    schema.pop("required", None)
    if names:
        schema["required"] = names
