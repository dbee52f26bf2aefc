"""Resources inside resources: each has an `apiVersion`, a `kind` and good metadata."""

from typing import Any

from steersman.structural.checks.relative_errors import Check, Finding, Style
from steersman.structural.schema import Structural
from steersman.validation.field_errors import ErrorType, FieldError
from steersman.validation.names import kind_faults
from steersman.validation.object_meta import read_object_meta, url_name_faults, validate_object_meta
from steersman.validation.wire_types import WireTypeError

_SLASHES_OF_A_GROUP_VERSION = 1


def _finding(name: str, value: Any, detail: str) -> Finding:
    finding = Finding(ErrorType.INVALID, value, detail, Style.BESIDE)
    finding.steps.append(name)
    return finding


def _missing(name: str) -> Finding:
    finding = Finding(ErrorType.REQUIRED, "", "", Style.BESIDE)
    finding.steps.append(name)
    return finding


def _of_error(error: FieldError) -> Finding:
    finding = Finding(error.type, error.value, error.detail, Style.BESIDE)
    finding.steps.append(error.field)
    return finding


def _api_version(value: str) -> list[Finding]:
    if value.count("/") > _SLASHES_OF_A_GROUP_VERSION:
        return [_finding("apiVersion", value, f"unexpected GroupVersion string: {value}")]
    return []


def _kind(value: str) -> list[Finding]:
    return [_finding("kind", value, fault) for fault in kind_faults(value)]


def _type_meta(name: str, value: Any) -> list[Finding]:
    if value.__class__ is not str:
        return [_finding(name, value, "must be a string")]
    if not value:
        return [_finding(name, value, "must not be empty")]
    return _api_version(value) if name == "apiVersion" else _kind(value)


def _metadata(value: Any) -> list[Finding]:
    try:
        meta, _ = read_object_meta(value)
    except WireTypeError as error:
        return [_finding("metadata", value, str(error))]
    # A name is not demanded inside a resource.
    named = {**meta, "name": meta.get("name") or "fakename"}
    errors = validate_object_meta(named, namespaced=bool(meta.get("namespace")), name_faults=url_name_faults)
    return [_of_error(error) for error in errors]


def _check(value: Any) -> list[Finding] | None:
    if value.__class__ is not dict:
        return None
    found = []
    for name in ("apiVersion", "kind"):
        found += _type_meta(name, value[name]) if name in value else [_missing(name)]
    if "metadata" in value:
        found += _metadata(value["metadata"])
    return found or None


def embedded_check(node: Structural) -> Check | None:
    """Give the check of a node that holds a resource."""
    return _check if node.embedded else None
