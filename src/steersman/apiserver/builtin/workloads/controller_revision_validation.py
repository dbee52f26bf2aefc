"""Validation of ControllerRevisions."""

from steersman.apiserver.builtin.common.numbers import negative_errors
from steersman.apiserver.builtin.workloads.template_validation import IMMUTABLE
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, required


def controller_revision_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ControllerRevision."""
    del subresource
    errors: Errors = [] if obj.get("data") is not None else [required("data", "data is mandatory")]
    errors += negative_errors(obj, ("revision",), "")
    if old is not None and not same_content(obj.get("data"), old.get("data")):
        errors.append(invalid("data", obj.get("data"), IMMUTABLE))
    return errors
