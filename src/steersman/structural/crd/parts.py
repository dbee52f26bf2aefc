"""What a CustomResourceDefinition has beside its schemas: names, versions, subresources, columns, selectable fields."""

import unicodedata
from typing import Final

from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject
from steersman.structural.schema import Structural
from steersman.validation.field_errors import (
    ErrorType,
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from steersman.validation.names import dns1035_faults, kind_faults, subdomain_faults

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_LIMIT: Final = 8
_WARNING_LIMIT: Final = 256
_SELECTABLE_TYPES: Final = frozenset({("string",), ("boolean",), ("integer",)})


def enum_errors(path: str, value: str, supported: tuple[str, ...]) -> list[FieldError]:
    """Check a field that must have one of a few values."""
    if not value:
        return [required(path)]
    return [] if value in supported else [not_supported(path, value, supported)]


def group_errors(group: str, path: str) -> list[FieldError]:
    """Check the API group."""
    if not group:
        return [required(path)]
    if faults := subdomain_faults(group):
        return [invalid(path, group, ",".join(faults))]
    return [] if "." in group else [invalid(path, group, "should be a domain with at least one dot")]


def names_errors(names: JsonObject, path: str) -> list[FieldError]:
    """Check the names of a kind."""
    errors = [required(f"{path}.{key}") for key in ("plural", "singular", "kind", "listKind") if not names.get(key)]
    for key in ("plural", "singular"):
        errors += _label_errors(names.get(key) or "", f"{path}.{key}")
    for key in ("kind", "listKind"):
        name = names.get(key)
        errors += [invalid(f"{path}.{key}", name, fault) for fault in kind_faults(name)] if name else []
    for key in ("shortNames", "categories"):
        for index, name in enumerate(names.get(key) or ()):
            errors += _label_errors(name, f"{path}.{key}[{index}]", empty=True)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same"))
    return errors


def _label_errors(name: str, path: str, *, empty: bool = False) -> list[FieldError]:
    faults = dns1035_faults(name) if name or empty else []
    return [invalid(path, name, ",".join(faults))] if faults else []


def _shown_version(version: JsonObject) -> GoStruct:
    """Return a version as the server's own structure prints; what all versions share has been moved out of it."""
    return GoStruct(
        Name=version["name"],
        Served=version["served"],
        Storage=version["storage"],
        Deprecated=version.get("deprecated", False),
        DeprecationWarning=version.get("deprecationWarning"),
        Schema=None,
        Subresources=None,
        AdditionalPrinterColumns=None,
        SelectableFields=None,
    )


def versions_errors(versions: list[JsonObject] | None, path: str) -> list[FieldError]:
    """Check the versions as a whole, and their names."""
    errors: list[FieldError] = []
    for index, version in enumerate(versions or ()):
        errors += _label_errors(version["name"], f"{path}[{index}].name", empty=True)
        errors += _deprecation_errors(version, f"{path}[{index}].deprecationWarning")
    names = [version["name"] for version in versions or ()]
    shown = None if versions is None else [_shown_version(version) for version in versions]
    if len(set(names)) != len(names):
        errors.append(invalid(path, shown, "must contain unique version names"))
    if sum(bool(version["storage"]) for version in versions or ()) != 1:
        errors.append(invalid(path, shown, "must have exactly one version marked as storage version"))
    if names and names[0]:
        # The first version is also stored where older API versions had their only one.
        errors += _label_errors(names[0], path.removesuffix("s"))
    return errors


def _deprecation_errors(version: JsonObject, path: str) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    if not version.get("deprecated"):
        return [invalid(path, warning, "can only be set for deprecated versions")]
    errors = []
    if len(warning.encode()) > _WARNING_LIMIT:
        errors.append(invalid(path, warning, f"must be <= {_WARNING_LIMIT} characters long"))
    if not warning:
        errors.append(invalid(path, warning, "must not be an empty string"))
    for index, char in enumerate(warning):
        if char != " " and unicodedata.category(char)[0] not in "LMNPS":
            place = len(warning[:index].encode())
            text = f"must only contain printable UTF-8 characters; non-printable character found at index {place}"
            errors.append(invalid(path, warning, text))
            break
    return errors


def subresources_errors(subresources: JsonObject | None, path: str) -> list[FieldError]:
    """Check the paths of the scale subresource."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for key, roots in (("specReplicasPath", (".spec",)), ("statusReplicasPath", (".status",))):
        errors += _scale_path_errors(scale[key], f"{path}.scale.{key}", roots)
    selector = scale.get("labelSelectorPath")
    if selector:
        errors += _scale_path_errors(selector, f"{path}.scale.labelSelectorPath", (".spec", ".status"))
    return errors


def _scale_path_errors(value: str, path: str, roots: tuple[str, ...]) -> list[FieldError]:
    if not value:
        return [required(path)]
    if not value.startswith("."):
        return [invalid(path, value, "must be a simple json path starting with .")]
    if not value.startswith(tuple(f"{root}." for root in roots)):
        either = roots[0] if len(roots) == 1 else f"either {' or '.join(roots)}"
        return [invalid(path, value, f"should be a json path under {either}")]
    return []


def column_errors(column: JsonObject, path: str) -> list[FieldError]:
    """Check a printer column."""
    errors = [] if column["name"] else [required(f"{path}.name")]
    text = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column["type"]:
        errors.append(required(f"{path}.type", text))
    elif column["type"] not in _COLUMN_TYPES:
        errors.append(invalid(f"{path}.type", column["type"], text))
    format_ = column.get("format")
    if format_ and format_ not in _COLUMN_FORMATS:
        errors.append(invalid(f"{path}.format", format_, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    if not column["jsonPath"]:
        errors.append(required(f"{path}.JSONPath"))
    elif not column["jsonPath"].startswith("."):
        text = "must be a simple json path starting with ."
        errors.append(invalid(f"{path}.JSONPath", column["jsonPath"], text))
    return errors


def selectable_errors(fields: list[JsonObject], root: Structural | None, path: str) -> list[FieldError]:
    """Check selectable fields against the schema that they point into."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        json_path, where = field["jsonPath"], f"{path}[{index}].jsonPath"
        found = _selectable_path_errors(json_path, root, where)
        errors += found
        if json_path in seen:
            errors.append(duplicate(where, json_path))
        elif not any("is an invalid path" in error.detail or error.type is ErrorType.REQUIRED for error in found):
            seen.add(json_path)
    if len(seen) > _SELECTABLE_LIMIT:
        errors.append(too_many(path, len(seen), _SELECTABLE_LIMIT))
    return errors


def _selectable_path_errors(json_path: str, root: Structural | None, where: str) -> list[FieldError]:
    if not json_path:
        return [required(where)]
    if not json_path.startswith((".", "[")):
        got = json_path.partition(".")[0]
        return [invalid(where, json_path, f"is an invalid path: expected [ or . but got: {got}")]
    if "[" in json_path:
        return [invalid(where, json_path, "is an invalid path: array notation is not allowed")]
    node: Structural | None = root
    for name in json_path[1:].split("."):
        node = node.child(name) if node is not None else None
    if node is None:
        return [invalid(where, json_path, "is an invalid path: does not refer to a valid field")]
    errors = []
    if json_path.startswith(".metadata."):
        errors.append(invalid(where, json_path, "must not point to fields in metadata"))
    if node.types not in _SELECTABLE_TYPES:
        text = (
            "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are "
            "allowed."
        )
        errors.append(invalid(where, json_path, text))
    return errors
