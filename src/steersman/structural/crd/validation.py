"""`validate_crd`: whether a real API server would accept a CustomResourceDefinition, and what it would make of it.

Pure: the object goes in, errors, warnings and the defaulted object come out. Paths and words are the server's own;
where all versions share a schema, it is spoken of as `spec.validation`, as the server does.
"""

from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from steersman.errors import DecodeError
from steersman.golang.strict_json import settle_numbers
from steersman.json_types import JsonObject
from steersman.structural.crd.cel_rules import rule_errors
from steersman.structural.crd.conversion import conversion_errors
from steersman.structural.crd.default_rules import default_errors
from steersman.structural.crd.parts import (
    column_errors,
    enum_errors,
    group_errors,
    names_errors,
    selectable_errors,
    subresources_errors,
    versions_errors,
)
from steersman.structural.crd.protected_groups import APPROVAL_ANNOTATION, is_protected_group
from steersman.structural.crd.schema_rules import Place, has_unsupported, schema_errors
from steersman.structural.crd.structural_rules import structural_errors
from steersman.structural.crd.types import read_crd
from steersman.structural.schema import Structural, parse_schema
from steersman.validation.field_errors import FieldError, forbidden, invalid, required
from steersman.validation.formats import is_known_format
from steersman.validation.names import subdomain_faults
from steersman.validation.object_meta import validate_object_meta, validate_object_meta_update
from steersman.validation.wire_types import WireTypeError

_APPROVAL_DOCS: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
_WEBHOOK_PORT: Final = 443
#: Keywords that a root may have though its status is a subresource, and their Go names.
_ALLOWED_BESIDE_STATUS: Final = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}


class CrdReview(NamedTuple):
    """What a server makes of a CustomResourceDefinition."""

    #: Empty if it is accepted.
    errors: list[FieldError]
    #: Warnings of the server: unknown formats.
    warnings: list[str]
    #: Paths of fields that the server does not know; strict decoding rejects them, otherwise they cause warnings.
    unknown: list[str]
    #: The object with defaults and the initial status, as it would be stored.
    crd: JsonObject


def default_crd(crd: JsonObject) -> None:
    """Fill in the defaults of the server in place: names, conversion, the port of a webhook."""
    names, spec = crd["spec"]["names"], crd["spec"]
    if names.get("kind"):
        names["singular"] = names.get("singular") or names["kind"].lower()
        names["listKind"] = names.get("listKind") or f"{names['kind']}List"
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", _WEBHOOK_PORT)


def storage_version(crd: JsonObject) -> str | None:
    """Return the name of the first version that is marked as stored."""
    return next((entry["name"] for entry in crd["spec"]["versions"] or () if entry["storage"]), None)


def _set_status(crd: JsonObject, old: JsonObject | None) -> None:
    if old is None:
        status: JsonObject = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}}
        stored: list[str] = []
    else:
        status = dict(old.get("status") or {})
        stored = list(status.get("storedVersions") or ())
    version = storage_version(crd)
    if version is not None and version not in stored:
        stored.append(version)
    crd["status"] = {**status, "storedVersions": stored or None}


def _name_errors(crd: JsonObject) -> list[FieldError]:
    spec = crd["spec"]
    wanted = f"{spec['names'].get('plural', '')}.{spec['group']}"

    def faults(name: str, prefix: bool) -> list[str]:
        checked = name[:-1] + "a" if prefix and name.endswith("-") else name
        other = [] if name == wanted else ['must be spec.names.plural+"."+spec.group']
        return subdomain_faults(checked) + other

    return validate_object_meta(crd["metadata"], namespaced=False, name_faults=faults)


def _shared(versions: list[JsonObject], key: str) -> bool:
    """Return whether all versions have the same under a key: the server then moves it out of them."""
    return all(version.get(key) == versions[0].get(key) for version in versions)


def _schema_of(version: JsonObject) -> JsonObject | None:
    found: JsonObject | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return found


def _located(versions: list[JsonObject], key: str, shared_path: str, own_path: str) -> list[tuple[Any, str]]:
    """Return what versions have under a key, each with its path; once, if all have the same."""
    if versions and _shared(versions, key):
        return [(versions[0], shared_path)]
    return [(version, own_path.format(index)) for index, version in enumerate(versions)]


def _status_root_errors(schema: JsonObject, path: str) -> list[FieldError]:
    """Return errors about a root whose status is a subresource: its keywords would be lost for the status."""
    for key, value in schema.items():
        if key == "type" and value and value != "object":
            text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            return [invalid(f"{path}.type", value, text)]
        if value and key not in _ALLOWED_BESIDE_STATUS:
            allowed = " ".join(_ALLOWED_BESIDE_STATUS.values())
            text = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
            return [invalid(path, schema, text)]
    return []


def _one_schema_errors(schema: JsonObject, path: str, *, has_status: bool) -> list[FieldError]:
    errors = _status_root_errors(schema, path) if has_status else []
    if schema.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    errors += schema_errors(schema, Place(path, is_root=True))
    faulty = [error.field for error in errors]
    unsound: list[FieldError] = []
    if not has_unsupported(schema):
        unsound = structural_errors(schema, path) or default_errors(schema, path)
    # Rules are compiled only where the schema around them is sound; their form is looked at in any case.
    return errors + unsound + rule_errors(schema, path, faulty, is_sound=not unsound)


def _schemas_errors(versions: list[JsonObject], known: JsonObject) -> list[FieldError]:
    """Return the errors of the schemas of all versions; one that is ``known`` to have been accepted is skipped."""
    errors = [
        required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions)
        if _schema_of(version) is None
    ]
    places = _located(versions, "schema", "spec.validation.openAPIV3Schema", "spec.versions[{}].schema.openAPIV3Schema")
    for version, path in places:
        schema = _schema_of(version)
        if schema is not None and schema != known.get(version["name"]):
            errors += _one_schema_errors(schema, path, has_status=_has_status(versions))
    return errors


def _has_status(versions: list[JsonObject]) -> bool:
    return any((version.get("subresources") or {}).get("status") is not None for version in versions)


def _parsed(schema: JsonObject | None) -> Structural | None:
    try:
        return parse_schema(schema) if schema is not None else None
    except DecodeError:
        return None


def _version_parts_errors(versions: list[JsonObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    for version, path in _located(versions, "subresources", "spec.subresources", "spec.versions[{}].subresources"):
        errors += subresources_errors(version.get("subresources"), path)
    key = "additionalPrinterColumns"
    for version, path in _located(versions, key, f"spec.{key}", f"spec.versions[{{}}].{key}"):
        for index, column in enumerate(version.get(key) or ()):
            errors += column_errors(column, f"{path}[{index}]")
    key = "selectableFields"
    for version, path in _located(versions, key, f"spec.{key}", f"spec.versions[{{}}].{key}"):
        # What all versions select alike is looked for in the schema that all have, the rest in that of the version.
        is_shared = path == f"spec.{key}"
        if version.get(key) and len(versions) > 1 and is_shared != _shared(versions, "schema"):
            place = "validations.schema is" if is_shared else "`version.schema.openAPIV3Schema` is not"
            errors.append(invalid(path, "", f"may only be set when {place} included"))
        else:
            errors += selectable_errors(version.get(key) or [], _parsed(_schema_of(version)), path)
    return errors


def _spec_errors(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    versions = spec["versions"] or []
    accepted = old["spec"]["versions"] if old is not None else []
    known = {version["name"]: _schema_of(version) for version in accepted}
    return [
        *group_errors(spec["group"], "spec.group"),
        *enum_errors("spec.scope", spec["scope"], ("Cluster", "Namespaced")),
        *versions_errors(spec["versions"], "spec.versions"),
        *names_errors(spec["names"], "spec.names"),
        *_schemas_errors(versions, known),
        *_version_parts_errors(versions),
        *conversion_errors(spec["conversion"], "spec.conversion"),
    ]


def _stored_version_errors(crd: JsonObject) -> list[FieldError]:
    path, stored = "status.storedVersions", crd["status"].get("storedVersions")
    if not stored:
        return [invalid(path, stored, "must have at least one stored version")]
    versions = crd["spec"]["versions"] or []
    names = {version["name"] for version in versions}
    errors = [
        invalid(
            f"{path}[{index}]",
            name,
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
            "status.storedVersions",
        )
        for index, name in enumerate(stored)
        if name not in names
    ]
    storage = [version["name"] for version in versions if version["storage"]]
    if storage and storage[-1] not in stored:
        errors.append(invalid(path, stored, f"must have the storage version {storage[-1]}"))
    return errors


def _approval_state(crd: JsonObject) -> str:
    value = (crd["metadata"].get("annotations") or {}).get(APPROVAL_ANNOTATION, "")
    if not value:
        return "missing"
    if value.startswith("unapproved"):
        return "bypassed"
    url = urlsplit(value)
    return "approved" if url.scheme and url.netloc else "invalid"


def _approval_errors(crd: JsonObject, old: JsonObject | None) -> list[FieldError]:
    if not is_protected_group(crd["spec"]["group"]):
        return []
    state = _approval_state(crd)
    if old is not None and _approval_state(old) == state:
        return []
    path, text = f"metadata.annotations[{APPROVAL_ANNOTATION}]", "protected groups must have approval annotation"
    if state == "missing":
        return [required(path, f'{text} "{APPROVAL_ANNOTATION}", {_APPROVAL_DOCS}')]
    if state == "invalid":
        value = crd["metadata"]["annotations"][APPROVAL_ANNOTATION]
        reason = f'{text} "{APPROVAL_ANNOTATION}" with either a URL or a reason starting with "unapproved"'
        return [invalid(path, value, f"{reason}, {_APPROVAL_DOCS}")]
    return []


def _preserve_errors(crd: JsonObject, old: JsonObject | None) -> list[FieldError]:
    if not crd["spec"].get("preserveUnknownFields") or (old and old["spec"].get("preserveUnknownFields")):
        return []
    text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [invalid("spec.preserveUnknownFields", True, text)]  # noqa: FBT003 - a JSON value


def _immutable_errors(crd: JsonObject, old: JsonObject) -> list[FieldError]:
    new_spec, old_spec = crd["spec"], old["spec"]
    pairs = [
        ("spec.group", new_spec["group"], old_spec["group"]),
        ("spec.names.plural", new_spec["names"]["plural"], old_spec["names"]["plural"]),
    ]
    if is_established(old):
        pairs += [
            ("spec.scope", new_spec["scope"], old_spec["scope"]),
            ("spec.names.kind", new_spec["names"]["kind"], old_spec["names"]["kind"]),
        ]
    return [invalid(path, new, "field is immutable") for path, new, before in pairs if new != before]


def is_established(crd: JsonObject) -> bool:
    """Return whether a CRD is being served."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in conditions)


def _format_warnings(crd: JsonObject) -> list[str]:
    found: dict[str, None] = {}
    for version in crd["spec"]["versions"] or ():
        root = _parsed(_schema_of(version))
        for node in root.walk() if root is not None else ():
            name = node.schema.get("format")
            if name and not is_known_format(name, node.schema.get("type") or ""):
                found[f'unrecognized format "{name}"'] = None
    return list(found)


def validate_crd(crd: JsonObject, old: JsonObject | None = None) -> CrdReview:
    """Validate a CustomResourceDefinition that is created, or that replaces ``old`` (as the server stored it).

    Raises `DecodeError` with the decoder's message where a field has a wrong JSON type, and where schemas nest too
    deeply. The given objects are not changed.
    """
    try:
        return _validate(crd, old)
    except WireTypeError as error:
        raise DecodeError(str(error)) from None
    except RecursionError:
        raise DecodeError("the CustomResourceDefinition nests too deeply") from None


def _validate(given: JsonObject, old: JsonObject | None) -> CrdReview:
    crd, unknown = read_crd(given)
    default_crd(crd)
    _set_status(crd, old)
    if old is None:
        errors = _name_errors(crd)
    else:
        errors = validate_object_meta_update(crd["metadata"], old["metadata"]) + _immutable_errors(crd, old)
    errors += _spec_errors(crd["spec"], old)
    errors += _stored_version_errors(crd)
    errors += _approval_errors(crd, old)
    errors += _preserve_errors(crd, old)
    known = _format_warnings(old) if old is not None else []
    # Only now: a default of 1.0 is checked as the fraction that it was written as.
    settle_numbers(crd)
    return CrdReview(errors, [text for text in _format_warnings(crd) if text not in known], unknown, crd)
