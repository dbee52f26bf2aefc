"""Validation of node selectors, which pods and PersistentVolumes have, and the effects of taints."""

from steersman.apiserver.builtin.common.names import label_value_errors, qualified_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, required

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def node_selector_errors(selector: JsonObject, path: str) -> Errors:
    """Validate a node selector: a list of terms, one of which must match."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    errors: Errors = []
    for index, term in enumerate(terms):
        errors += node_selector_term_errors(term, f"{path}.nodeSelectorTerms[{index}]")
    return errors


def node_selector_term_errors(term: JsonObject, path: str) -> Errors:
    """Validate one term of a node selector: requirements for labels and for fields."""
    errors: Errors = []
    for index, need in enumerate(term.get("matchExpressions") or ()):
        errors += _requirement_errors(need, f"{path}.matchExpressions[{index}]")
    for index, need in enumerate(term.get("matchFields") or ()):
        errors += _field_requirement_errors(need, f"{path}.matchFields[{index}]")
    return errors


def _requirement_errors(need: JsonObject, path: str) -> Errors:
    operator, values = need.get("operator") or "", need.get("values") or ()
    errors: Errors = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    errors += qualified_errors(need.get("key") or "", f"{path}.key")
    for index, value in enumerate(values):
        errors += label_value_errors(value, f"{path}.values[{index}]")
    return errors


def _field_requirement_errors(need: JsonObject, path: str) -> Errors:
    errors: Errors = []
    if need.get("operator") not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", need.get("operator") or "", "not a valid selector operator"))
    elif len(need.get("values") or ()) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", text))
    if need.get("key") != "metadata.name":
        errors.append(invalid(f"{path}.key", need.get("key") or "", "not a valid field selector key"))
    return errors
