"""The built-in kinds: OpenAPI schemas with references, and discovery, become one module per group-version.

Schemas of built-in types carry the zero values of Go as defaults, which do not say what the server fills in.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steersman.codegen.annotations import (
    ANYTHING,
    HANDMADE,
    Annotator,
    Schema,
    demanded,
    description_of,
    fields_of,
    reference_in,
)
from steersman.codegen.naming import class_name, module_name, plural
from steersman.codegen.outline import Annotation, ClassOutline, ModuleOutline, Presence
from steersman.errors import DeclarationError
from steersman.objects.identity import ApiResource, GroupVersion, GroupVersionKind

_PACKAGE = "steersman.kinds"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_STABLE = re.compile(r"v[1-9][0-9]*")
_SCALARS = frozenset({"bool", "float", "int", "str"})
_TIMES = frozenset({"MicroTime", "datetime"})

#: What an untyped schema stands for, by the tail of its name; ``{}`` is the schema type of the same package.
_UNTYPED = {
    "JSON": "Any",
    "JSONSchemaPropsOrArray": "JSONSchemaProps | list[JSONSchemaProps]",
    "JSONSchemaPropsOrBool": "JSONSchemaProps | bool",
    "JSONSchemaPropsOrStringArray": "JSONSchemaProps | list[str]",
}


@dataclass(frozen=True, slots=True)
class Bundle:
    """All type definitions of one Kubernetes version."""

    kubernetes: str
    schemas: Mapping[str, Schema]


def read_bundle(documents: list[Mapping[str, Any]]) -> Bundle:
    """Read OpenAPI v3 documents of a server, or bundles of their schemas."""
    schemas: dict[str, Schema] = {}
    version = ""
    for document in documents:
        schemas.update(document.get("schemas") or document.get("components", {}).get("schemas") or {})
        version = version or document.get("kubernetes") or document.get("info", {}).get("version") or ""
    return Bundle(version or "unknown", schemas)


def read_discovery(documents: list[Mapping[str, Any]]) -> list[ApiResource]:
    """Read aggregated discovery: the resources of all stable group-versions, and the kinds of their subresources."""
    found: dict[GroupVersionKind, ApiResource] = {}
    inner: dict[GroupVersionKind, ApiResource] = {}
    for document in documents:
        for group in document.get("items", ()):
            for version in group["versions"]:
                known = GroupVersion(group["metadata"].get("name", ""), version["version"])
                for resource in version["resources"]:
                    outer = _resource(resource, known)
                    found.setdefault(outer.gvk, outer)
                    inner.update((one.gvk, one) for one in _inner_kinds(resource, known))
    merged = {**inner, **found}
    return [resource for gvk, resource in sorted(merged.items()) if _STABLE.fullmatch(gvk.version)]


def _kind(response: Mapping[str, str], within: GroupVersion) -> GroupVersionKind:
    """Read a kind; discovery leaves out the group-version that it stands in."""
    if not response.get("version"):
        return GroupVersionKind(*within, response["kind"])
    return GroupVersionKind(response.get("group", ""), response["version"], response["kind"])


def _resource(resource: Mapping[str, Any], within: GroupVersion) -> ApiResource:
    return ApiResource(
        gvk=_kind(resource["responseKind"], within),
        plural=resource["resource"],
        singular=resource.get("singularResource", ""),
        namespaced=resource["scope"] == "Namespaced",
        short_names=tuple(resource.get("shortNames", ())),
        categories=tuple(resource.get("categories", ())),
        subresources=frozenset(inner["subresource"] for inner in resource.get("subresources", ())),
    )


def _inner_kinds(resource: Mapping[str, Any], within: GroupVersion) -> Iterator[ApiResource]:
    """Yield kinds that exist only as a subresource (Scale, Eviction): they have no path themselves."""
    for subresource in resource.get("subresources", ()):
        gvk = _kind(subresource["responseKind"], within)
        yield ApiResource(gvk=gvk, plural=plural(gvk.kind), singular=gvk.kind.lower())


class BuiltinModules:
    """Collects the classes of all modules, beginning at the kinds and following their references."""

    def __init__(self, bundle: Bundle, resources: list[ApiResource]) -> None:
        self._schemas = bundle.schemas
        self._annotator = Annotator(self)
        self._kinds = {
            name: resource for resource in resources if (name := self._schema_name(resource.gvk)) is not None
        }
        #: Schema names begin with their Go package; each package of a kind becomes one module.
        self._modules = {_package(name): module_name(*r.gvk.group_version) for name, r in self._kinds.items()}
        self._modules[_META] = "meta_v1"
        self._status_types = {
            ref for name in self._kinds if (ref := self._part(name, "status")) is not None and ref in self._schemas
        }
        self._wanted = [*self._kinds, *(name for name in self._schemas if _package(name) == _META)]
        self._done: dict[str, ClassOutline] = {}

    def outlines(self) -> list[ModuleOutline]:
        """Return every module, by name, with its classes by name."""
        while self._wanted:
            name = self._wanted.pop()
            if name not in self._done and _handmade(name) is None:
                self._done[name] = self._class(name)
        described = {module: f"The kinds of {version} and their parts." for version, module in self.index().items()}
        described["meta_v1"] = "Types that kinds of all groups share, and other responses of servers."
        modules = {name: ModuleOutline(f"{_PACKAGE}.{name}", text) for name, text in sorted(described.items())}
        for name, outline in sorted(self._done.items(), key=lambda item: item[1].name):
            modules[self._modules[_package(name)]].classes.append(outline)
        return list(modules.values())

    def index(self) -> dict[str, str]:
        """Return the module of every group-version, by its apiVersion."""
        return dict(sorted((r.gvk.api_version, self._modules[_package(name)]) for name, r in self._kinds.items()))

    def referenced(self, ref: str) -> Annotation:
        """Return the class of a schema, and queue it for generation."""
        if (known := _handmade(ref)) is not None:
            return known
        tail = ref.rpartition(".")[2]
        schema = self._schemas.get(ref)
        if schema is None or _package(ref) not in self._modules:
            raise DeclarationError(f"the schema {ref!r} is referred to, but not part of any stable group-version")
        if not schema:
            return self._untyped(ref, tail)
        self._wanted.append(ref)
        return self._named(ref, tail)

    def inline(self, schema: Schema, owner: str, wire: str) -> Annotation:
        """Raise an error: built-in types are always named."""
        raise DeclarationError(f"{owner}.{wire}: a built-in type without a name: {sorted(schema)}")

    def _can_be_empty(self, schema: Schema) -> bool:
        """Return whether an object of this type has no required field."""
        ref = reference_in(schema)
        if ref is None or ref not in self._schemas:
            return False
        inner = self._schemas[ref]
        return all(self._presence_in(ref, wire, inner["properties"][wire]) != "required" for wire in demanded(inner))

    def _schema_name(self, gvk: GroupVersionKind) -> str | None:
        wanted = gvk._asdict()
        for name, schema in self._schemas.items():
            if wanted in schema.get("x-kubernetes-group-version-kind", ()) and _package(name) != _META:
                return name
        return None

    def _part(self, name: str, wire: str) -> str | None:
        return reference_in(self._schemas[name].get("properties", {}).get(wire, {}))

    def _named(self, ref: str, tail: str) -> Annotation:
        name = class_name(tail)
        return Annotation(name, frozenset({(f"{_PACKAGE}.{self._modules[_package(ref)]}", name)}))

    def _untyped(self, ref: str, tail: str) -> Annotation:
        text = _UNTYPED.get(tail, "Any")
        if text == "Any":
            return ANYTHING
        return Annotation(text, self.referenced(f"{_package(ref)}.JSONSchemaProps").imports)

    def _class(self, name: str) -> ClassOutline:
        schema = self._schemas[name]
        kind = self._kinds.get(name)
        title = class_name(name.rpartition(".")[2])

        def presence(wire: str, part: Schema, required: bool, annotation: Annotation) -> Presence:
            if kind is not None and wire in ("spec", "status"):
                return self._presence_of_half(wire, part, required=required)
            if not required:
                return "optional"
            return self._presence_in(name, wire, part, annotation)

        fields = fields_of(schema, self._annotator, presence, owner=title, of_kind=kind is not None)
        return ClassOutline(title, fields, kind, description_of(schema))

    def _presence_of_half(self, wire: str, part: Schema, *, required: bool) -> Presence:
        """Return the presence of a kind's spec or status: one that can be empty reads as empty when it is absent."""
        if required:
            return "required"
        if self._can_be_empty(part):
            return "absent"
        # A default marks a field that is not a pointer in Go: servers always send it, so it is never None.
        return "required" if wire == "spec" and "default" in part else "optional"

    def _presence_in(self, name: str, wire: str, part: Schema, annotation: Annotation | None = None) -> Presence:
        """Return the presence of a required field: a zero time is null on the wire; a status begins with zeros."""
        text = (annotation or self._annotator.annotate(part, name, wire)).text
        if text in _TIMES:
            return "optional"
        return "zero" if name in self._status_types and text in _SCALARS else "required"


def _package(schema_name: str) -> str:
    return schema_name.rpartition(".")[0]


def _handmade(schema_name: str) -> Annotation | None:
    return next((known for tail, known in HANDMADE.items() if schema_name.endswith(f".{tail}")), None)
