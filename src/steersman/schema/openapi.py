"""The OpenAPI v3 document of a custom group and version: what kubectl reads for `explain`, `apply` and `create`.

It describes the kinds, their lists and the operations on them. Documents of built-in kinds are not made here.
"""

from collections.abc import Iterable
from typing import Any, Final

from steersman.structural.defaulting import copied

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_REF: Final = "#/components/schemas/"
_STRING: Final = {"type": "string", "default": ""}
_TIME: Final = {"type": "string", "format": "date-time"}
_INT64: Final = {"type": "integer", "format": "int64"}

_API_VERSION_TEXT: Final = "The version of the schema that this object is written in."
_KIND_TEXT: Final = "The kind of this object, in CamelCase."

_DESCRIPTIONS: Final = {
    "dryRun": "When present, the request is checked and answered, but nothing is stored. The only value is All.",
    "fieldManager": "The name of the actor that makes the change; it owns the fields that it sets.",
    "fieldValidation": "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
    "force": "Take fields from other appliers by force. Only for apply.",
}


def component_name(group: str, version: str, kind: str) -> str:
    """Name a kind as Kubernetes' documents do: the group's domain, reversed."""
    return ".".join((*reversed(group.split(".")), version, kind))


def _meta_schemas() -> dict[str, Any]:
    """Describe the parts of metadata, each as far as clients use it."""
    strings = {"type": "object", "additionalProperties": _STRING}
    owner = {
        "type": "object",
        "description": "Who owns an object; an object whose owners are all gone is deleted.",
        "required": ["apiVersion", "kind", "name", "uid"],
        "properties": {
            "apiVersion": _STRING,
            "kind": _STRING,
            "name": _STRING,
            "uid": _STRING,
            "controller": {"type": "boolean"},
            "blockOwnerDeletion": {"type": "boolean"},
        },
        "x-kubernetes-map-type": "atomic",
    }
    managed = {
        "type": "object",
        "description": "Which fields one manager has set.",
        "properties": {
            "apiVersion": {"type": "string"},
            "fieldsType": {"type": "string"},
            "fieldsV1": {"type": "object"},
            "manager": {"type": "string"},
            "operation": {"type": "string"},
            "subresource": {"type": "string"},
            "time": _TIME,
        },
    }
    object_meta = {
        "type": "object",
        "description": "Metadata that every stored object has.",
        "properties": {
            "annotations": strings,
            "creationTimestamp": _TIME,
            "deletionGracePeriodSeconds": _INT64,
            "deletionTimestamp": _TIME,
            "finalizers": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
            "generateName": {"type": "string"},
            "generation": _INT64,
            "labels": strings,
            "managedFields": {
                "type": "array",
                "items": {"allOf": [{"$ref": f"{_REF}{_META}.ManagedFieldsEntry"}], "default": {}},
                "x-kubernetes-list-type": "atomic",
            },
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "ownerReferences": {
                "type": "array",
                "items": {"allOf": [{"$ref": f"{_REF}{_META}.OwnerReference"}], "default": {}},
                "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-list-type": "map",
            },
            "resourceVersion": {"type": "string"},
            "selfLink": {"type": "string"},
            "uid": {"type": "string"},
        },
    }
    list_meta = {
        "type": "object",
        "description": "Metadata of a list.",
        "properties": {
            "continue": {"type": "string"},
            "remainingItemCount": _INT64,
            "resourceVersion": {"type": "string"},
            "selfLink": {"type": "string"},
        },
    }
    named = {
        "OwnerReference": owner,
        "ManagedFieldsEntry": managed,
        "ObjectMeta": object_meta,
        "ListMeta": list_meta,
    }
    return {f"{_META}.{name}": schema for name, schema in named.items()}


def _type_meta() -> dict[str, Any]:
    return {
        "apiVersion": {"type": "string", "description": _API_VERSION_TEXT},
        "kind": {"type": "string", "description": _KIND_TEXT},
    }


def _metadata(name: str, description: str) -> dict[str, Any]:
    return {"description": description, "allOf": [{"$ref": f"{_REF}{_META}.{name}"}]}


def _kind_schemas(gvk: dict[str, str], list_kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Describe a kind and its list."""
    name = component_name(gvk["group"], gvk["version"], gvk["kind"])
    described = copied(schema)
    own = {key: part for key, part in (described.get("properties") or {}).items() if key not in ("apiVersion", "kind")}
    described["properties"] = {
        **_type_meta(),
        **own,
        "metadata": _metadata("ObjectMeta", "Standard object metadata."),
    }
    described["x-kubernetes-group-version-kind"] = [gvk]
    listed = {
        "type": "object",
        "description": f"{list_kind} is a list of {gvk['kind']}.",
        "required": ["items"],
        "properties": {
            **_type_meta(),
            "items": {"type": "array", "items": {"$ref": f"{_REF}{name}"}},
            "metadata": _metadata("ListMeta", "Standard list metadata."),
        },
        "x-kubernetes-group-version-kind": [{**gvk, "kind": list_kind}],
    }
    return {name: described, component_name(gvk["group"], gvk["version"], list_kind): listed}


def _parameters(names: Iterable[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "description": _DESCRIPTIONS[name],
            "schema": {"type": "boolean" if name == "force" else "string", "uniqueItems": True},
        }
        for name in names
    ]


def _path_parameter(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "description": description,
        "required": True,
        "schema": {"type": "string", "uniqueItems": True},
    }


_WRITES: Final = ("dryRun", "fieldManager", "fieldValidation")
_PATCH_TYPES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)


class _Operations:
    """Describes the operations on one resource."""

    def __init__(self, gvk: dict[str, str], list_kind: str) -> None:
        self._gvk = gvk
        self._object = {"$ref": _REF + component_name(gvk["group"], gvk["version"], gvk["kind"])}
        self._list = {"$ref": _REF + component_name(gvk["group"], gvk["version"], list_kind)}

    def _operation(self, action: str, answer: dict[str, Any], **more: Any) -> dict[str, Any]:
        codes = ("200", "201") if action in ("post", "put", "patch") else ("200",)
        media = {"application/json": {"schema": answer}, "application/yaml": {"schema": answer}}
        return {
            **more,
            "responses": {code: {"description": "OK", "content": media} for code in codes},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": self._gvk,
        }

    def _body(self) -> dict[str, Any]:
        return {"content": {"application/json": {"schema": self._object}}, "required": True}

    def collection(self, tag: str) -> dict[str, Any]:
        """Describe the path of all objects."""
        writes = _parameters(_WRITES)
        return {
            "get": self._operation("list", self._list, operationId=f"list{tag}"),
            "post": self._operation(
                "post", self._object, operationId=f"create{tag}", parameters=writes, requestBody=self._body()
            ),
            "delete": self._operation("deletecollection", {"type": "object"}, operationId=f"deleteCollection{tag}"),
        }

    def item(self, tag: str) -> dict[str, Any]:
        """Describe the path of one object, or of a subresource of it."""
        writes = _parameters(_WRITES)
        patch = {"content": {media: {"schema": {"type": "object"}} for media in _PATCH_TYPES}, "required": True}
        return {
            "get": self._operation("get", self._object, operationId=f"read{tag}"),
            "put": self._operation(
                "put", self._object, operationId=f"replace{tag}", parameters=writes, requestBody=self._body()
            ),
            "patch": self._operation(
                "patch",
                self._object,
                operationId=f"patch{tag}",
                parameters=_parameters((*_WRITES, "force")),
                requestBody=patch,
            ),
            "delete": self._operation("delete", {"type": "object"}, operationId=f"delete{tag}"),
        }


def _paths(crd: dict[str, Any], version: dict[str, Any], operations: _Operations) -> dict[str, Any]:
    spec = crd["spec"]
    root = f"/apis/{spec['group']}/{version['name']}"
    plural, kind = spec["names"]["plural"], spec["names"]["kind"]
    namespaced = spec["scope"] == "Namespaced"
    space = [_path_parameter("namespace", "The namespace of the object.")] if namespaced else []
    base = f"{root}/namespaces/{{namespace}}/{plural}" if namespaced else f"{root}/{plural}"
    named = [*space, _path_parameter("name", f"The name of the {kind}.")]
    tag = f"{'Namespaced' if namespaced else ''}{kind}"
    paths = {
        base: {**operations.collection(tag), "parameters": space},
        f"{base}/{{name}}": {**operations.item(tag), "parameters": named},
    }
    for subresource in ("status", "scale"):
        if (version.get("subresources") or {}).get(subresource) is not None:
            item = operations.item(f"{tag}{subresource.capitalize()}")
            verbs = {verb: item[verb] for verb in ("get", "put", "patch")}
            paths[f"{base}/{{name}}/{subresource}"] = {**verbs, "parameters": named}
    if namespaced:
        everywhere = operations.collection(f"{kind}ForAllNamespaces")
        paths[f"{root}/{plural}"] = {"get": everywhere["get"]}
    return paths


def openapi_document(crds: Iterable[dict[str, Any]], group: str, version: str) -> dict[str, Any]:
    """Describe the kinds that are served under one group and version.

    The CRDs are those that a server accepted; others than those of the group are passed over.
    """
    schemas = _meta_schemas()
    paths: dict[str, Any] = {}
    for crd in crds:
        served = [entry for entry in crd["spec"]["versions"] if entry["name"] == version and entry["served"]]
        if crd["spec"]["group"] != group or not served:
            continue
        names = crd["spec"]["names"]
        list_kind = names.get("listKind") or f"{names['kind']}List"
        gvk = {"group": group, "kind": names["kind"], "version": version}
        schemas |= _kind_schemas(gvk, list_kind, served[0]["schema"]["openAPIV3Schema"])
        paths |= _paths(crd, served[0], _Operations(gvk, list_kind))
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    }
