"""Validation of StorageClasses and VolumeAttributesClasses."""

from collections.abc import Sequence

from steersman.apiserver.builtin.common.names import qualified_errors
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, forbidden, invalid, not_supported, required

_BINDING = ("Immediate", "WaitForFirstConsumer")
_IMMUTABLE = "field is immutable"


def storage_class_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a StorageClass."""
    del subresource
    provisioner = obj.get("provisioner") or ""
    errors = qualified_errors(provisioner.lower(), "provisioner") if provisioner else [required("provisioner")]
    errors += [required("parameters", "") for key in obj.get("parameters") or () if not key]
    for name, allowed in (("reclaimPolicy", ("Delete", "Retain")), ("volumeBindingMode", _BINDING)):
        value = obj.get(name)
        if value is None:
            errors.append(required(name))
        elif value not in allowed:
            errors.append(not_supported(name, value, allowed))
    errors += _topology_errors(obj.get("allowedTopologies") or ())
    if old is None:
        return errors
    for name, empty in (
        ("parameters", None),
        ("provisioner", ""),
        ("reclaimPolicy", None),
        ("volumeBindingMode", None),
    ):
        if not same_content(obj.get(name) or empty, old.get(name) or empty):
            given = obj.get(name)
            errors.append(invalid(name, empty if given is None else given, _IMMUTABLE))
    return errors


def volume_attributes_class_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a VolumeAttributesClass, which cannot be changed."""
    del subresource
    errors: Errors = []
    for name in ("driverName", "parameters") if old is not None else ():
        if not same_content(obj.get(name), (old or {}).get(name)):
            errors.append(forbidden(name, f"updates to {name} are forbidden."))
    driver, parameters = obj.get("driverName") or "", obj.get("parameters") or {}
    errors += qualified_errors(driver.lower(), "driverName") if driver else [required("driverName")]
    errors += [invalid("parameters", key, "field can not be empty.") for key in parameters if not key]
    if not parameters:
        errors.append(required("parameters", "must contain at least one key/value pair"))
    return errors


def _topology_errors(terms: Sequence[JsonObject]) -> Errors:
    """Validate the topologies of a class; each term must differ from the others."""
    errors: Errors = []
    # Kubernetes compares each term with all of them, also with those that it has not read yet, which are empty.
    known: list[dict[str, set[str]]] = [{} for _ in terms]
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        values: dict[str, set[str]] = {}
        for place, need in enumerate(term.get("matchLabelExpressions") or ()):
            errors += _requirement_errors(need, f"{path}[{place}]")
            key = need.get("key") or ""
            if key in values:
                errors.append(duplicate(f"{path}[{place}].key", key))
            values[key] = set(need.get("values") or ())
        errors += [duplicate(path, "") for other in known if other == values]
        known[index] = values
    return errors


def _requirement_errors(need: JsonObject, path: str) -> Errors:
    values = need.get("values") or []
    errors: Errors = [] if values else [required(f"{path}.values")]
    errors += [
        duplicate(f"{path}.values[{index}]", value) for index, value in enumerate(values) if value in values[:index]
    ]
    return errors + qualified_errors(need.get("key") or "", f"{path}.key")
