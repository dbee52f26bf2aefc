"""Validation of StorageClasses."""

from steersman.apiserver.builtin.common.names import qualified_errors
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, not_supported, required

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
    if old is None:
        return errors
    for name, empty in (
        ("parameters", None),
        ("provisioner", ""),
        ("reclaimPolicy", None),
        ("volumeBindingMode", None),
    ):
        if not same_content(obj.get(name) or empty, old.get(name) or empty):
            errors.append(invalid(name, obj.get(name) or empty, _IMMUTABLE))
    return errors
