"""Resources inside resources: each has an `apiVersion`, a `kind` and good metadata."""

from steersman.structural.checks.relative_errors import Check, MessageStyle, RelativeError
from steersman.structural.schema import Structural
from steersman.validation.field_errors import ErrorType, FieldError
from steersman.validation.names import kind_faults
from steersman.validation.object_meta import read_object_meta, url_name_faults, validate_object_meta
from steersman.validation.wire_types import WireTypeError

_SLASHES_OF_A_GROUP_VERSION = 1


def _invalid(name: str, value: object, detail: str) -> RelativeError:
    error = RelativeError(ErrorType.INVALID, value, detail, MessageStyle.BESIDE)
    error.steps.append(name)
    return error


def _missing(name: str) -> RelativeError:
    error = RelativeError(ErrorType.REQUIRED, "", "", MessageStyle.BESIDE)
    error.steps.append(name)
    return error


def _of_error(field_error: FieldError) -> RelativeError:
    error = RelativeError(field_error.type, field_error.value, field_error.detail, MessageStyle.BESIDE)
    error.steps.append(field_error.field)
    return error


def _api_version(value: str) -> list[RelativeError]:
    if value.count("/") > _SLASHES_OF_A_GROUP_VERSION:
        return [_invalid("apiVersion", value, f"unexpected GroupVersion string: {value}")]
    return []


def _kind(value: str) -> list[RelativeError]:
    return [_invalid("kind", value, fault) for fault in kind_faults(value)]


def _type_meta(name: str, value: object) -> list[RelativeError]:
    if value.__class__ is not str:
        return [_invalid(name, value, "must be a string")]
    if not value:
        return [_invalid(name, value, "must not be empty")]
    return _api_version(value) if name == "apiVersion" else _kind(value)


def _metadata(value: object) -> list[RelativeError]:
    try:
        meta, _ = read_object_meta(value)
    except WireTypeError as error:
        return [_invalid("metadata", value, str(error))]
    # A name is not demanded inside a resource.
    named = {**meta, "name": meta.get("name") or "fakename"}
    errors = validate_object_meta(named, namespaced=bool(meta.get("namespace")), name_faults=url_name_faults)
    return [_of_error(error) for error in errors]


def _check(value: object) -> list[RelativeError] | None:
    if value.__class__ is not dict:
        return None
    found = []
    for name in ("apiVersion", "kind"):
        found += _type_meta(name, value[name]) if name in value else [_missing(name)]
    if "metadata" in value:
        found += _metadata(value["metadata"])
    return found or None


def embedded_check(node: Structural) -> Check | None:
    """Return the check of a node that holds a resource."""
    return _check if node.embedded else None
