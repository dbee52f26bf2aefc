"""Where pods may run: tolerations, affinities and how they spread."""

from collections.abc import Sequence
from typing import Any

from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import label_errors, label_value_errors, qualified_errors
from steersman.apiserver.builtin.common.numbers import NOT_POSITIVE
from steersman.validation.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from steersman.validation.names import label_value_faults

Document = dict[str, Any]
Errors = list[FieldError]
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MAX_WEIGHT = 100
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_HONOR = ("Honor", "Ignore")


def toleration_errors(tolerations: Sequence[Document], path: str) -> Errors:
    """Complain about tolerations."""
    errors: Errors = []
    for index, toleration in enumerate(tolerations):
        here = f"{path}[{index}]"
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        effect = toleration.get("effect") or ""
        if key:
            errors += qualified_errors(key, f"{here}.key")
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(f"{here}.operator", operator, text))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(f"{here}.effect", effect, text))
        errors += _value_errors(toleration.get("value") or "", operator, f"{here}.operator")
        if effect and effect not in EFFECTS:
            errors.append(not_supported(f"{here}.effect", effect, EFFECTS))
    return errors


def _value_errors(value: str, operator: str, field: str) -> Errors:
    if operator in ("Equal", ""):
        faults = label_value_faults(value) if value else []
        return [invalid(field, value, ";".join(faults))] if faults else []
    if operator == "Exists":
        return [invalid(field, value, "value must be empty when `operator` is 'Exists'")] if value else []
    return [not_supported(field, operator, ["Equal", "Exists"])]


def node_selector_errors(selector: Document, path: str) -> Errors:
    """Complain about a selector of nodes, which is a list of alternatives."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    errors: Errors = []
    for index, term in enumerate(terms):
        errors += _term_errors(term, f"{path}.nodeSelectorTerms[{index}]")
    return errors


def _term_errors(term: Document, path: str) -> Errors:
    errors: Errors = []
    for index, need in enumerate(term.get("matchExpressions") or ()):
        errors += _need_errors(need, f"{path}.matchExpressions[{index}]")
    for index, need in enumerate(term.get("matchFields") or ()):
        errors += _field_need_errors(need, f"{path}.matchFields[{index}]")
    return errors


def _need_errors(need: Document, path: str) -> Errors:
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


def _field_need_errors(need: Document, path: str) -> Errors:
    errors: Errors = []
    if need.get("operator") not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", need.get("operator") or "", "not a valid selector operator"))
    elif len(need.get("values") or ()) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", text))
    if need.get("key") != "metadata.name":
        errors.append(invalid(f"{path}.key", need.get("key") or "", "not a valid field selector key"))
    return errors


def affinity_errors(affinity: Document, path: str) -> Errors:
    """Complain about what a pod wants to be near to."""
    errors: Errors = []
    node = affinity.get("nodeAffinity") or {}
    if node.get(_REQUIRED) is not None:
        errors += node_selector_errors(node[_REQUIRED], f"{path}.nodeAffinity.{_REQUIRED}")
    for index, term in enumerate(node.get(_PREFERRED) or ()):
        here = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        errors += _weight_errors(term, here)
        errors += _term_errors(term.get("preference") or {}, f"{here}.preference")
    for name in ("podAffinity", "podAntiAffinity"):
        if affinity.get(name):
            errors += _pod_affinity_errors(affinity[name], f"{path}.{name}")
    return errors


def _weight_errors(term: Document, path: str) -> Errors:
    weight = term.get("weight") or 0
    return [] if 0 < weight <= _MAX_WEIGHT else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def _pod_affinity_errors(affinity: Document, path: str) -> Errors:
    errors: Errors = []
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        errors += _pod_term_errors(term, f"{path}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        here = f"{path}.{_PREFERRED}[{index}]"
        errors += _weight_errors(weighted, here)
        errors += _pod_term_errors(weighted.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm")
    return errors


def _pod_term_errors(term: Document, path: str) -> Errors:
    errors = selector_errors(term.get("labelSelector"), f"{path}.labelSelector")
    errors += selector_errors(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        errors += label_errors(name, f"{path}.namespace")
    key = term.get("topologyKey") or ""
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + qualified_errors(key, f"{path}.topologyKey")


def spread_errors(constraints: Sequence[Document], path: str) -> Errors:
    """Complain about how pods are to be spread."""
    errors: Errors = []
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        here = f"{path}[{index}]"
        key, action = constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""
        skew = constraint.get("maxSkew") or 0
        if skew <= 0:
            errors.append(invalid(f"{here}.maxSkew", skew, NOT_POSITIVE))
        if not key:
            errors.append(required(f"{here}.topologyKey", "can not be empty"))
        if action not in _ACTIONS:
            errors.append(not_supported(f"{here}.whenUnsatisfiable", action, _ACTIONS))
        if (key, action) in seen:
            first = next(n for n, other in enumerate(constraints) if _spread_key(other) == (key, action))
            errors.append(duplicate(f"{path}[{first}].{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        seen.add((key, action))
        errors += _domain_errors(constraint, action, here)
        errors += selector_errors(constraint.get("labelSelector"), f"{here}.labelSelector")
    return errors


def _spread_key(constraint: Document) -> tuple[str, str]:
    return constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""


def _domain_errors(constraint: Document, action: str, path: str) -> Errors:
    errors: Errors = []
    domains = constraint.get("minDomains")
    if domains is not None:
        if domains <= 0:
            errors.append(invalid(f"{path}.minDomains", domains, NOT_POSITIVE))
        if action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            errors.append(invalid(f"{path}.minDomains", domains, text))
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if constraint.get(name) is not None and constraint[name] not in _HONOR:
            errors.append(not_supported(f"{path}.{name}", constraint[name], _HONOR))
    return errors
