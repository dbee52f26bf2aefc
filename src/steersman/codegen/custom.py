"""Custom resources: the inline schemas of CustomResourceDefinitions become classes with readable names.

An object inside an object gets the short name of its field if all objects under that name have the same shape,
otherwise the name of its owner is put in front. Names do not depend on the order of the definitions.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steersman.codegen.annotations import Annotator, Schema, demanded, description_of, fields_of, properties_of
from steersman.codegen.naming import RESERVED_CLASS_NAMES, class_name, module_name, unique
from steersman.codegen.outline import Annotation, ClassOutline, ModuleOutline, Presence
from steersman.errors import DeclarationError
from steersman.objects.identity import ApiResource, GroupVersion, GroupVersionKind

#: What decides about the generated class; two schemas that agree in it can share one.
_SHAPING = (
    "type",
    "format",
    "nullable",
    "pattern",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)


def shape_of(schema: Any) -> str:
    """Return a text that is equal for schemas that become the same class."""
    if not isinstance(schema, Mapping):
        return repr(schema)
    members = [(key, repr(schema[key])) for key in _SHAPING if key in schema]
    members += [(key, shape_of(schema[key])) for key in ("items", "additionalProperties") if key in schema]
    properties, needed = properties_of(schema), _needed(schema)
    members += [(f".{name}", f"{name in needed} {shape_of(properties[name])}") for name in sorted(properties)]
    return repr(members)


def _needed(schema: Schema) -> frozenset[str]:
    """Return the fields that an author must set: required, and not filled in by the server."""
    return frozenset(name for name in demanded(schema) if "default" not in schema["properties"][name])


def _text_fields(*names: str) -> dict[str, Schema]:
    return {name: {"type": "string"} for name in names}


#: Objects that are the same everywhere, and whose classes exist.
_KNOWN = {
    shape_of(
        {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                **_text_fields("message", "status", "type"),
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "observedGeneration": {"type": "integer", "format": "int64"},
                "reason": {"type": "string", "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
                "type": {
                    "type": "string",
                    "pattern": (
                        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                        r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
                    ),
                },
            },
        }
    ): Annotation("Condition", frozenset({("steersman.objects.meta", "Condition")})),
    shape_of(
        {
            "type": "object",
            "properties": {
                "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
                "matchExpressions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["key", "operator"],
                        "properties": {
                            **_text_fields("key", "operator"),
                            "values": {"type": "array", "items": {"type": "string"}},
                        },
                    },
                },
            },
        }
    ): Annotation("LabelSelector", frozenset({("steersman.kinds.meta_v1", "LabelSelector")})),
}


_HALVES = frozenset({"spec", "status"})


class _Survey:
    """First pass over all objects: collects which shapes occur under which name."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self._kinds = kinds
        self._shapes: dict[str, set[str]] = {}
        self._annotator = Annotator(self)

    def is_ambiguous(self, title: str) -> bool:
        """Return whether objects of different shapes would like to have this name."""
        return len(self._shapes.get(title, ())) > 1

    def referenced(self, ref: str) -> Annotation:
        """Raise an error: schemas of custom resources contain no references."""
        raise DeclarationError(f"a custom resource's schema cannot refer to another one: {ref!r}")

    def inline(self, schema: Schema, owner: str, wire: str) -> Annotation:
        """Record the shape, and look inside."""
        shape, title = shape_of(schema), class_name(wire)
        if shape not in _KNOWN:
            if not (owner in self._kinds and wire in _HALVES):
                self._shapes.setdefault(title, set()).add(shape)
            fields_of(schema, self._annotator, _presence, owner="")
        return Annotation(title)

    def look_at(self, schema: Schema, kind: str) -> None:
        """Collect the shapes of all objects inside a kind."""
        fields_of(schema, self._annotator, _presence, owner=kind, of_kind=True)


def _presence(_: str, schema: Schema, required: bool, __: Annotation) -> Presence:
    # What has a default is filled in by the server, so the author may leave it out.
    return "required" if required and "default" not in schema else "optional"


def _presence_in_kind(wire: str, schema: Schema, required: bool, annotation: Annotation) -> Presence:
    can_be_empty = bool(properties_of(schema)) and not _needed(schema) and not schema.get("nullable")
    if wire in ("spec", "status") and not required and can_be_empty:
        return "absent"
    return _presence(wire, schema, required, annotation)


class _Classes:
    """Makes the classes of one module."""

    def __init__(self, survey: _Survey, kinds: frozenset[str]) -> None:
        self._survey = survey
        self._kinds = kinds
        self._annotator = Annotator(self)
        #: Names that are taken already; a short name among them is not tried.
        self._reserved = kinds | RESERVED_CLASS_NAMES | {known.text for known in _KNOWN.values()}
        #: The class of each title and shape.
        self._names: dict[tuple[str, str], str] = {}
        self._used = set(self._reserved)
        self.made: list[ClassOutline] = []

    def referenced(self, ref: str) -> Annotation:
        """Raise an error: schemas of custom resources contain no references."""
        return self._survey.referenced(ref)

    def inline(self, schema: Schema, owner: str, wire: str) -> Annotation:
        """Return the class of an object inside an object, and make it when it is new."""
        shape = shape_of(schema)
        if (known := _KNOWN.get(shape)) is not None:
            return known
        title = self._title(owner, wire)
        name = self._names.get((title, shape))
        if name is None:
            name = self._names[title, shape] = unique(title, self._used)
            self._make(name, schema, None)
        return Annotation(name)

    def make_kind(self, name: str, schema: Schema, resource: ApiResource) -> None:
        """Create the class of a kind, and those of all objects inside it."""
        self._make(name, schema, resource)

    def _title(self, owner: str, wire: str) -> str:
        title = class_name(wire)
        is_half = owner in self._kinds and wire in _HALVES
        return f"{owner}{title}" if is_half or title in self._reserved or self._survey.is_ambiguous(title) else title

    def _make(self, name: str, schema: Schema, resource: ApiResource | None) -> None:
        # An owner stands before its parts, as one reads.
        place = len(self.made)
        rule = _presence if resource is None else _presence_in_kind
        fields = fields_of(schema, self._annotator, rule, owner=name, of_kind=resource is not None)
        self.made.insert(place, ClassOutline(name, fields, resource, description_of(schema)))


def _get(document: Any, path: str, wanted: type[Any]) -> Any:
    """Return a member of an untrusted document; raise an error that names it if it is missing or of another type."""
    value = document
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if not isinstance(value, wanted):
        raise DeclarationError(f"not a CustomResourceDefinition: {path} is not {wanted.__name__}")
    return value


def _texts(names: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = names.get(key)
    return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else ()


def _versions(crd: Any) -> Iterator[tuple[ApiResource, Schema]]:
    """Yield the served versions of one definition."""
    names = _get(crd, "spec.names", Mapping)
    for version in _get(crd, "spec.versions", list):
        if not (isinstance(version, Mapping) and version.get("served", True)):
            continue
        subresources = version.get("subresources")
        resource = ApiResource(
            gvk=GroupVersionKind(_get(crd, "spec.group", str), _get(version, "name", str), _get(names, "kind", str)),
            plural=_get(names, "plural", str),
            singular=names["singular"] if isinstance(names.get("singular"), str) else "",
            namespaced=_get(crd, "spec.scope", str) == "Namespaced",
            short_names=_texts(names, "shortNames"),
            categories=_texts(names, "categories"),
            subresources=frozenset(name for name in ("status", "scale") if name in (subresources or ())),
        )
        yield resource, _get(version, "schema.openAPIV3Schema", Mapping)


def _kind_title(resource: ApiResource, used: set[str]) -> str:
    title = class_name(resource.gvk.kind)
    return unique(f"{title}Kind" if title in RESERVED_CLASS_NAMES else title, used)


def _module(name: str, version: GroupVersion, kinds: list[tuple[ApiResource, Schema]]) -> ModuleOutline:
    used: set[str] = set()
    titled = [(_kind_title(resource, used), schema, resource) for resource, schema in kinds]
    titles = frozenset(title for title, _, _ in titled)
    survey = _Survey(titles)
    for title, schema, _ in titled:
        survey.look_at(schema, title)
    classes = _Classes(survey, titles)
    for title, schema, resource in titled:
        classes.make_kind(title, schema, resource)
    return ModuleOutline(name, f"The kinds of {version} and their parts.", classes.made)


def _module_names(versions: list[GroupVersion]) -> list[str]:
    """Return each group-version a module: by the head of its group, or by the whole where heads are equal."""
    heads = [module_name(*version) for version in versions]
    used: set[str] = set()
    return [
        unique(head if heads.count(head) == 1 else module_name(version.group.replace(".", "-"), version.version), used)
        for head, version in zip(heads, versions, strict=True)
    ]


def custom_modules(definitions: Sequence[Mapping[str, Any]]) -> list[ModuleOutline]:
    """Return one module for each group-version of the definitions; raise an error for other documents."""
    groups: dict[GroupVersion, dict[str, tuple[ApiResource, Schema]]] = {}
    for definition in definitions:
        for resource, schema in _versions(definition):
            groups.setdefault(resource.gvk.group_version, {})[resource.gvk.kind] = (resource, schema)
    versions = sorted(groups)
    try:
        return [
            _module(name, version, [kind for _, kind in sorted(groups[version].items(), key=lambda item: item[0])])
            for name, version in zip(_module_names(versions), versions, strict=True)
        ]
    except RecursionError:
        raise DeclarationError("a schema of these definitions is nested too deeply") from None
