"""OpenAPI v3: one document per group version, which kubectl validates and explains with.

Written from the catalog: the schemas of built-in kinds come from their type table, those of custom resources from their
definitions. The index names each document by a hash of what it is made from, so none is written before it is asked for.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping

from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.served_resource import ServedResource, Subresource
from steersman.json_types import JsonObject
from steersman.objects.codec import encode_json
from steersman.version import __version__

_REF = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_METADATA: JsonObject = {
    "allOf": [{"$ref": f"{_REF}{_META}ObjectMeta"}],
    "description": "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
}
_QUERY: dict[str, JsonObject] = {
    "dryRun": {"type": "string"},
    "fieldManager": {"type": "string"},
    "fieldValidation": {"type": "string"},
    "force": {"type": "boolean"},
}
_JSON = "application/json"
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
#: Only built-in kinds know it; clients read here whether they may send it.
_STRATEGIC = "application/strategic-merge-patch+json"


def schema_name(served: ServedResource) -> str:
    """Name the schema of a custom resource as Kubernetes does: the group reversed."""
    return ".".join([*reversed(served.group.split(".")), served.version, served.kind])


def _references(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        part = pending.pop()
        if part.__class__ is dict:
            if (target := part.get("$ref")).__class__ is str:
                yield target.removeprefix(_REF)
            pending.extend(part.values())
        elif part.__class__ is list:
            pending.extend(part)


def _closure(roots: Mapping[str, JsonObject], types: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """Return the roots and every type to which they refer."""
    found = dict(roots)
    pending = [name for schema in roots.values() for name in _references(schema)]
    while pending:
        name = pending.pop()
        if name not in found and name in types:
            found[name] = types[name]
            pending.extend(_references(types[name]))
    return dict(sorted(found.items()))


def _parameter(name: str, schema: JsonObject, where: str = "query") -> JsonObject:
    made: JsonObject = {"name": name, "in": where, "schema": schema}
    if where == "path":
        made["required"] = True
    return made


class OpenApi:
    """Writes and keeps the OpenAPI documents of one catalog."""

    def __init__(self, catalog: Catalog, types: Callable[[], Mapping[str, JsonObject]]) -> None:
        self._catalog = catalog
        self._types = types
        self._revision = -1
        self._hashes: dict[str, str] = {}
        self._documents: dict[str, bytes] = {}
        self._by_kind: dict[tuple[str, str, str], str] = {}

    def index(self) -> bytes:
        """Return the index: the path of each document, with its hash."""
        self._refresh()
        paths = {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"} for path, digest in self._hashes.items()
        }
        return encode_json({"paths": paths})

    def document(self, path: str) -> tuple[bytes, str] | None:
        """Return the document of ``apis/group/version`` and its hash; ``None`` if the group does not exist."""
        self._refresh()
        digest = self._hashes.get(path)
        if digest is None:
            return None
        if path not in self._documents:
            self._documents[path] = encode_json(self._write(*self._group_version(path)))
        return self._documents[path], digest

    def documents(self) -> Iterator[JsonObject]:
        """Yield all documents, written again."""
        self._refresh()
        for path in self._hashes:
            yield self._write(*self._group_version(path))

    @staticmethod
    def _group_version(path: str) -> tuple[str, str]:
        parts = path.split("/")
        return ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])

    def _refresh(self) -> None:
        if self._revision == self._catalog.revision:
            return
        before, self._hashes = self._hashes, self._digests()
        self._documents = {
            path: text for path, text in self._documents.items() if before.get(path) == self._hashes.get(path)
        }
        self._revision = self._catalog.revision

    def _digests(self) -> dict[str, str]:
        made: dict[str, str] = {}
        for group in self._catalog.groups():
            for version in self._catalog.versions(group):
                path = f"apis/{group}/{version}" if group else f"api/{version}"
                resources = self._catalog.resources(group, version)
                basis = [
                    [
                        __version__,
                        served.plural,
                        served.kind,
                        served.namespaced,
                        sorted(served.subresources),
                        served.strategy.openapi_schema(),
                    ]
                    for served in resources
                ]
                made[path] = hashlib.sha512(encode_json([path, basis])).hexdigest().upper()
        return made

    def _write(self, group: str, version: str) -> JsonObject:
        types = self._types()
        resources = self._catalog.resources(group, version)
        roots: dict[str, JsonObject] = {}
        paths: JsonObject = {}
        for served in resources:
            name = self._root(served, roots, types)
            paths.update(_paths(served, name))
        for name in ("DeleteOptions", "Status", "WatchEvent", "ListMeta", "Patch"):
            if _META + name in types:
                roots[_META + name] = types[_META + name]
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "v1.36.4"},
            "paths": dict(sorted(paths.items())),
            "components": {"schemas": _closure(roots, types)},
        }

    def _root(self, served: ServedResource, roots: dict[str, JsonObject], types: Mapping[str, JsonObject]) -> str:
        """Add the schemas of a resource and its list; give the name of the first."""
        if served.builtin:
            name = self._builtin_name(served, types)
            for found in (name, f"{name}List"):
                if found in types:
                    roots[found] = types[found]
            return name
        name = schema_name(served)
        gvk = {"group": served.group, "version": served.version, "kind": served.kind}
        schema = served.strategy.openapi_schema() or {"type": "object"}
        roots[name] = _custom_schema(schema, gvk)
        roots[f"{name}List"] = _list_schema(name, {**gvk, "kind": served.resource.list_kind})
        return name

    def _builtin_name(self, served: ServedResource, types: Mapping[str, JsonObject]) -> str:
        if not self._by_kind:
            for name, schema in types.items():
                for gvk in schema.get("x-kubernetes-group-version-kind", ()):
                    # Types such as DeleteOptions name every group; the first owner of a kind is the real one.
                    self._by_kind.setdefault((gvk["group"], gvk["version"], gvk["kind"]), name)
        return self._by_kind.get((served.group, served.version, served.kind), "")


def _custom_schema(schema: JsonObject, gvk: JsonObject) -> JsonObject:
    schema = _with_embedded(schema)
    properties = dict(schema.get("properties") or {})
    properties["apiVersion"] = {"type": "string", "description": _API_VERSION}
    properties["kind"] = {"type": "string", "description": _KIND}
    properties["metadata"] = _METADATA
    return {**schema, "properties": dict(sorted(properties.items())), "x-kubernetes-group-version-kind": [gvk]}


def _with_embedded(schema: JsonObject) -> JsonObject:
    """Return a schema in which embedded objects have a type and metadata."""
    made = dict(schema)
    if properties := schema.get("properties"):
        made["properties"] = {name: _with_embedded(part) for name, part in properties.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            made[key] = _with_embedded(schema[key])
    if schema.get("x-kubernetes-embedded-resource"):
        typed = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _METADATA}
        made["properties"] = {**(made.get("properties") or {}), **typed}
        required = schema.get("required") or []
        made["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
    return made


_API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
    "schemas to the latest internal value, and may reject unrecognized values. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
_KIND = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the "
    "endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)


def _list_schema(name: str, gvk: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [{"$ref": f"{_REF}{_META}ListMeta"}]},
            "items": {"type": "array", "items": {"allOf": [{"$ref": f"{_REF}{name}"}]}},
        },
        "x-kubernetes-group-version-kind": [gvk],
    }


#: Verb → HTTP method and the action that the documents name; the first four stand on the collection.
_ACTIONS = {
    "list": ("get", "list"),
    "create": ("post", "post"),
    "deletecollection": ("delete", "deletecollection"),
    "get": ("get", "get"),
    "update": ("put", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
}
_ON_COLLECTION = frozenset({"list", "create", "deletecollection"})
#: Subresources that are connections to a pod or a service.
_CONNECTIONS = frozenset({"attach", "exec", "portforward", "proxy"})
_WRITES = frozenset({"create", "update", "patch"})
#: What is returned by verbs that do not return the object itself.
_RESULTS = {"list": "{}List", "delete": f"{_META}Status", "deletecollection": f"{_META}Status"}


def _operation(served: ServedResource, verb: str, name: str, part: Subresource | None = None) -> JsonObject:
    schema = {"$ref": f"{_REF}{name}"} if name else {"type": "object"}
    result = {"$ref": f"{_REF}{_RESULTS.get(verb, '{}').format(name)}"} if name else schema
    kind = served.resource.gvk if part is None else part.kind
    is_connection = part is not None and part.name in _CONNECTIONS
    operation: JsonObject = {
        "x-kubernetes-action": "connect" if is_connection else _ACTIONS[verb][1],
        "x-kubernetes-group-version-kind": {"group": kind.group, "kind": kind.kind, "version": kind.version},
        "responses": {"200": {"description": "OK", "content": {_JSON: {"schema": result}}}},
    }
    if verb in _WRITES:
        wanted = [key for key in _QUERY if key != "force" or verb == "patch"]
        operation["parameters"] = [_parameter(key, _QUERY[key]) for key in wanted]
        medias = (_JSON,) if verb != "patch" else (*_PATCHES, _STRATEGIC) if served.builtin else _PATCHES
        operation["requestBody"] = {"content": {media: {"schema": schema} for media in medias}, "required": True}
    return operation


def _paths(served: ServedResource, name: str) -> JsonObject:
    """Return the paths of one resource: its collection, its objects, their subresources."""
    base = f"/apis/{served.group}/{served.version}" if served.group else f"/api/{served.version}"
    place = f"{base}/namespaces/{{namespace}}/{served.plural}" if served.namespaced else f"{base}/{served.plural}"
    parameters = [_parameter("namespace", {"type": "string"}, "path")] if served.namespaced else []
    named = [_parameter("name", {"type": "string"}, "path"), *parameters]
    collection: JsonObject = {"parameters": parameters}
    single: JsonObject = {"parameters": named}
    for verb in _ACTIONS:
        if verb in served.verbs:
            target = collection if verb in _ON_COLLECTION else single
            target[_ACTIONS[verb][0]] = _operation(served, verb, name)
    paths = {place: collection, f"{place}/{{name}}": single} if len(single) > 1 else {place: collection}
    if served.namespaced and "list" in served.verbs:
        paths[f"{base}/{served.plural}"] = {"get": _operation(served, "list", name)}
    for part in served.subresources.values():
        operations = {
            _ACTIONS[verb][0]: _operation(served, verb, name, part) for verb in part.verbs if verb in _ACTIONS
        }
        paths[f"{place}/{{name}}/{part.name}"] = {"parameters": named, **operations}
    return paths
