"""Validation of PersistentVolumeClaims."""

import math
from collections.abc import Sequence

from steersman.apiserver.builtin.common.internal_form import difference_text, internal_form
from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import subdomain_errors
from steersman.apiserver.builtin.common.quantities import parse_quantity, positive_errors
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported, required

_ACCESS = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_IMMUTABLE = "field is immutable"
#: The deprecated way to name a class, which volumes have, too.
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_IMMUTABLE_SPEC = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_STORAGE = "storage"


def access_mode_errors(modes: Sequence[str], path: str) -> Errors:
    """Validate access modes; ``ReadWriteOncePod`` cannot be combined with another."""
    errors: Errors = [not_supported(path, mode, _ACCESS) for mode in modes if mode not in _ACCESS]
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS[:3] for mode in modes):
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def claim_spec_errors(spec: JsonObject, path: str) -> Errors:
    """Validate the spec of a claim, in a claim or in a template."""
    modes = spec.get("accessModes") or ()
    errors: Errors = [] if modes else [required(f"{path}.accessModes", "at least 1 access mode is required")]
    errors += selector_errors(spec.get("selector"), f"{path}.selector")
    errors += access_mode_errors(modes, f"{path}.accessModes")
    size = ((spec.get("resources") or {}).get("requests") or {}).get(_STORAGE)
    field = f"{path}.resources[{_STORAGE}]"
    errors += [required(field)] if size is None else positive_errors(size, field)
    for name in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(name):
            errors += subdomain_errors(spec[name], f"{path}.{name}")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    for name in ("dataSource", "dataSourceRef"):
        if spec.get(name) is not None:
            errors += _source_errors(spec[name], f"{path}.{name}")
    if spec.get("dataSource") is not None and spec.get("dataSourceRef") is not None:
        own = {key: value for key, value in spec["dataSourceRef"].items() if key != "namespace"}
        if not same_content(own, spec["dataSource"]):
            errors.append(invalid(path, {}, "must match dataSourceRef"))
    return errors


def _source_errors(source: JsonObject, path: str) -> Errors:
    errors: Errors = [required(f"{path}.{key}") for key in ("name", "kind") if not source.get(key)]
    group = source.get("apiGroup") or ""
    if group:
        errors += subdomain_errors(group, f"{path}.apiGroup")
    elif source.get("kind", "PersistentVolumeClaim") != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, source["kind"], text))
    return errors


def claim_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a PersistentVolumeClaim."""
    if subresource == "status":
        return _claim_status_errors(obj.get("status") or {})
    spec = obj.get("spec") or {}
    if old is None:
        return claim_spec_errors(spec, "spec")
    if same_content(spec, old.get("spec")):
        return []
    return claim_spec_errors(spec, "spec") + _immutable_field_errors(obj, old)


def _claim_status_errors(status: JsonObject) -> Errors:
    errors: Errors = []
    for part in ("capacity", "allocatedResources"):
        for name, text in (status.get(part) or {}).items():
            # Kubernetes rounds negative quantities away from zero.
            amount = math.floor(parse_quantity(text).value)
            if amount < 0:
                errors.append(invalid(f"status.{part}[{name}]", amount, "must be a valid resource quantity"))
    return errors


def _immutable_field_errors(obj: JsonObject, old: JsonObject) -> Errors:
    spec, before = dict(obj.get("spec") or {}), dict(old.get("spec") or {})
    after_size, before_size = (
        ((part.get("resources") or {}).get("requests") or {}).get(_STORAGE) for part in (spec, before)
    )
    if not before.get("volumeName") and spec.get("volumeName"):
        before["volumeName"] = spec["volumeName"]
    if before.get("storageClassName") is None and spec.get("storageClassName") is not None:
        # A claim without a class may get the default class later.
        del spec["storageClassName"]
    if (obj.get("status") or {}).get("phase") == "Bound":
        _keep(spec, before, "volumeAttributesClassName")
        if (spec.get("resources") or {}).get("requests") is not None and before_size is not None:
            requests = {**spec["resources"]["requests"], _STORAGE: before_size}
            spec["resources"] = {**spec["resources"], "requests": requests}
    errors: Errors = []
    shown = [internal_form("PersistentVolumeClaimSpec", part) for part in (before, spec)]
    if shown[0] != shown[1]:
        errors.append(forbidden("spec", f"{_IMMUTABLE_SPEC}\n{difference_text(*shown)}"))
    has = ((old.get("status") or {}).get("capacity") or {}).get(_STORAGE, "0")
    if _is_less(after_size, before_size) and parse_quantity(after_size or "0").value <= parse_quantity(has).value:
        text = "field can not be less than status.capacity"
        errors.append(forbidden("spec.resources.requests.storage", text))
    if spec.get("volumeMode") != before.get("volumeMode"):
        errors.append(invalid("volumeMode", spec.get("volumeMode"), _IMMUTABLE))
    return errors


def _is_less(after: str | None, before: str | None) -> bool:
    return parse_quantity(after or "0").value < parse_quantity(before or "0").value


def _keep(spec: JsonObject, before: JsonObject, name: str) -> None:
    spec.pop(name, None)
    if name in before:
        spec[name] = before[name]


def claim_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return warnings about a PersistentVolumeClaim."""
    del old
    text = 'deprecated since v1.8; use "storageClassName" attribute instead'
    annotations = obj["metadata"].get("annotations") or {}
    warnings = [f"metadata.annotations[{CLASS_ANNOTATION}]: {text}"] if CLASS_ANNOTATION in annotations else []
    return [*warnings, *claim_spec_warnings(obj.get("spec") or {}, "spec")]


def claim_spec_warnings(spec: JsonObject, path: str) -> list[str]:
    """Return warnings about sizes that are not whole bytes; StatefulSets have them for their claim templates."""
    resources = spec.get("resources") or {}
    amounts = {part: (resources.get(part) or {}).get("storage") for part in ("requests", "limits")}
    return [
        f'{path}.resources.{part}[storage]: fractional byte value "{text}" is invalid, must be an integer'
        for part, text in amounts.items()
        if text and parse_quantity(text).value % 1
    ]
