"""Builds a CustomResourceDefinition that a real server accepts from declared classes.

`crd_of(CustomPod)` for one version, `crd_of(V1, V2)` for several of one kind. The result is validated by the rules of a
real server before it is returned; an error names the Python file and field that it comes from.
"""

from typing import Any, Final

from steersman.errors import DeclarationError
from steersman.json_types import JsonObject
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.objects.codec import from_json
from steersman.objects.fields import fields_of
from steersman.objects.resource import Resource
from steersman.schema.declaration import Column, Declaration, declaration_of, place_of
from steersman.schema.policy_rules import PlacedRule, take_policy_rules
from steersman.schema.type_tree import Origin, TypeTree
from steersman.structural.crd.protected_groups import APPROVAL_ANNOTATION
from steersman.structural.crd.validation import validate_crd
from steersman.structural.schema import Schema, Structural, parse_schema
from steersman.validation.field_errors import FieldError

CustomClass = type[Resource[Any, Any]]

_COLUMN_TYPES: Final = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean"}


def _root_schema(kind: CustomClass, origins: dict[str, Origin]) -> Schema:
    """Return the schema of a whole object, and note where its parts came from."""
    declaration = declaration_of(kind)
    schema: Schema = {"type": "object", "properties": {}}
    fields = {info.name: info for info in fields_of(kind)}
    for name in ("spec", "status"):
        tree = TypeTree(with_defaults=name == "spec")
        info = fields[name]
        path = f".properties[{name}]"
        schema["properties"][name] = tree.schema(info.type, path, Origin(kind, name))
        origins |= tree.origins
    if schema["properties"]["spec"].get("required"):
        schema["required"] = ["spec"]
    others = [info for name, info in fields.items() if name not in ("metadata", "spec", "status")]
    for info in others:
        tree = TypeTree()
        path = f".properties[{info.encode_name}]"
        schema["properties"][info.encode_name] = tree.schema(info.type, path, Origin(kind, info.name))
        origins |= tree.origins
    for rule in declaration.rules:
        rule.apply(schema)
    if text := kind.__dict__.get("__doc__"):
        schema["description"] = " ".join(str(text).split("\n\n")[0].split())
    origins[""] = Origin(kind)
    return schema


def _definable_schema(kind: CustomClass, origins: dict[str, Origin]) -> Schema:
    """Return the schema of a whole object without the rules that only an admission policy can keep."""
    schema = _root_schema(kind, origins)
    _take_rules(kind, schema)
    return schema


def _take_rules(kind: CustomClass, schema: Schema) -> list[PlacedRule]:
    try:
        return take_policy_rules(schema)
    except DeclarationError as error:
        raise DeclarationError(f"{place_of(kind)}: {error}") from None


def _column_type(column: Column, root: Structural, kind: CustomClass) -> str:
    if column.type:
        return column.type
    if column.path.startswith(".metadata."):
        return "date" if column.path.endswith("Timestamp") else "string"
    node: Structural | None = root
    for name in column.path[1:].split("."):
        node = node.child(name) if node is not None and "[" not in name else None
    found = _COLUMN_TYPES.get(node.types[0] if node is not None and len(node.types) == 1 else "")
    if found is None or node is None:
        raise DeclarationError(
            f"{place_of(kind)}: the type of {column} cannot be derived from the schema: write "
            f"Column({column.name!r}, {column.path!r}, type='string')"
        )
    return "date" if node.schema.get("format") == "date-time" else found


def _column(column: Column, root: Structural, kind: CustomClass) -> JsonObject:
    entry: JsonObject = {"name": column.name, "type": _column_type(column, root, kind)}
    optional = {"format": column.format, "description": column.description, "priority": column.priority}
    return entry | {key: value for key, value in optional.items() if value} | {"jsonPath": column.path}


def _subresources(declaration: Declaration) -> JsonObject:
    found: JsonObject = {"status": {}} if declaration.status else {}
    if declaration.scale is not None:
        scale = {"specReplicasPath": declaration.scale.spec, "statusReplicasPath": declaration.scale.status}
        if declaration.scale.selector:
            scale["labelSelectorPath"] = declaration.scale.selector
        found["scale"] = scale
    return found


def _version(kind: CustomClass, declaration: Declaration, schema: Schema, *, storage: bool) -> JsonObject:
    root = parse_schema(schema)
    version: JsonObject = {
        "name": declaration.resource.gvk.version,
        "served": declaration.served,
        "storage": storage,
    }
    if declaration.deprecated:
        version["deprecated"] = True
        if declaration.deprecation_warning:
            version["deprecationWarning"] = declaration.deprecation_warning
    version["schema"] = {"openAPIV3Schema": schema}
    if subresources := _subresources(declaration):
        version["subresources"] = subresources
    if declaration.columns:
        version["additionalPrinterColumns"] = [_column(column, root, kind) for column in declaration.columns]
    if declaration.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in declaration.selectable_fields]
    return version


def _storages(kinds: tuple[CustomClass, ...]) -> list[bool]:
    declared = [declaration_of(kind).storage for kind in kinds]
    if len(kinds) == 1:
        return [declared[0] is not False]
    if sum(bool(storage) for storage in declared) != 1:
        places = ", ".join(place_of(kind) for kind in kinds)
        raise DeclarationError(
            f"exactly one version of a kind is stored: pass storage=True to @custom_resource in one of {places}"
        )
    return [bool(storage) for storage in declared]


def stored_of(*kinds: CustomClass) -> CustomClass:
    """Return the class of the version that is stored."""
    return next((kind for kind, storage in zip(kinds, _storages(kinds), strict=True) if storage), kinds[0])


def check_same_kind(*kinds: CustomClass) -> None:
    """Reject classes that are not versions of one kind."""
    first = declaration_of(kinds[0]).resource
    for kind in kinds[1:]:
        other = declaration_of(kind).resource
        for what, one, two in (
            ("group", first.gvk.group, other.gvk.group),
            ("kind", first.gvk.kind, other.gvk.kind),
            ("plural", first.plural, other.plural),
            ("scope", first.namespaced, other.namespaced),
        ):
            if one != two:
                raise DeclarationError(
                    f"{place_of(kinds[0])} and {place_of(kind)} are not versions of one kind: their {what} differs"
                )


def _names(kinds: tuple[CustomClass, ...]) -> JsonObject:
    resource = declaration_of(kinds[0]).resource
    names: JsonObject = {
        "plural": resource.plural,
        "singular": resource.singular,
        "kind": resource.gvk.kind,
        "listKind": resource.list_kind,
    }
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names


def _described(errors: list[FieldError], origins: list[dict[str, Origin]]) -> str:
    """Write errors of a server in terms of the classes that they come from."""
    lines = []
    for error in errors:
        marker = "openAPIV3Schema"
        _, found, path = error.field.partition(marker)
        index = error.field.removeprefix("spec.versions[").partition("]")[0]
        known = origins[int(index)] if index.isdecimal() else origins[0]
        while found and path and path not in known:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        origin = known.get(path) if found else known[""]
        lines.append(f"{origin or known['']}: {error}")
    return "\n".join(lines)


def schema_of(kind: CustomClass) -> Schema:
    """Build the schema of whole objects of one version."""
    return _definable_schema(kind, {})


def policy_rules_of(kind: CustomClass) -> list[PlacedRule]:
    """Return the rules of a class that its CRD cannot hold, because they need to know the request."""
    return _take_rules(kind, _root_schema(kind, {}))


def crd_of(*kinds: CustomClass) -> JsonObject:
    """Build the CustomResourceDefinition of a kind from its classes, one for each version.

    Raises `DeclarationError` for everything that a real server would reject.
    """
    if not kinds:
        raise DeclarationError("crd_of() needs at least one class")
    check_same_kind(*kinds)
    origins: list[dict[str, Origin]] = [{} for _ in kinds]
    storages = _storages(kinds)
    versions = [
        _version(kind, declaration_of(kind), _definable_schema(kind, known), storage=storage)
        for kind, known, storage in zip(kinds, origins, storages, strict=True)
    ]
    resource = declaration_of(kinds[0]).resource
    metadata: JsonObject = {"name": f"{resource.plural}.{resource.gvk.group}"}
    approvals = [approval for kind in kinds if (approval := declaration_of(kind).api_approved)]
    if approvals:
        metadata["annotations"] = {APPROVAL_ANNOTATION: approvals[0]}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": resource.gvk.group,
            "names": _names(kinds),
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": versions,
        },
    }
    if errors := validate_crd(crd).errors:
        raise DeclarationError(_described(errors, origins))
    return crd


def crd_object(*kinds: CustomClass) -> CustomResourceDefinition:
    """Build the CustomResourceDefinition of a kind as a typed object."""
    return from_json(CustomResourceDefinition, crd_of(*kinds))
