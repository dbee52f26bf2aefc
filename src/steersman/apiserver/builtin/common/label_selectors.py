"""Validation of label selectors inside built-in kinds; ``resources/label_selectors`` evaluates them."""

from steersman.apiserver.builtin.common.names import label_value_errors, labels_errors, qualified_errors
from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, required

_SETS = ("In", "NotIn")
_PRESENCE = ("Exists", "DoesNotExist")


def selector_errors(selector: JsonObject | None, path: str) -> Errors:
    """Validate a label selector."""
    if not selector:
        return []
    errors = labels_errors(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        errors += _requirement_errors(requirement, f"{path}.matchExpressions[{index}]")
    return errors


def _requirement_errors(requirement: JsonObject, path: str) -> Errors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    errors: Errors = []
    if operator in _SETS:
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in _PRESENCE:
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    errors += qualified_errors(requirement.get("key", ""), f"{path}.key")
    for index, value in enumerate(values):
        errors += label_value_errors(value, f"{path}.values[{index}]")
    return errors


def quoted_selector(selector: JsonObject | None) -> object:
    """Return a selector as error messages quote it, in the order of Go's fields."""
    if selector is None:
        return None
    shown = GoStruct()
    if selector.get("matchLabels"):
        shown["matchLabels"] = selector["matchLabels"]
    if selector.get("matchExpressions"):
        shown["matchExpressions"] = [
            GoStruct({key: item[key] for key in ("key", "operator", "values") if key in item})
            for item in selector["matchExpressions"]
        ]
    return shown


def is_empty(selector: JsonObject | None) -> bool:
    """Return whether a selector has no requirements."""
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def is_usable(selector: JsonObject | None) -> bool:
    """Return whether a selector is valid."""
    return not selector_errors(selector, "")
