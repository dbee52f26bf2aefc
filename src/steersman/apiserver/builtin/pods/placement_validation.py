"""Validation of where pods may run: tolerations, affinity and topology spread."""

from collections.abc import Sequence

from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import label_errors, qualified_errors
from steersman.apiserver.builtin.common.node_selectors import (
    TAINT_EFFECTS,
    node_selector_errors,
    node_selector_term_errors,
)
from steersman.apiserver.builtin.common.numbers import NOT_POSITIVE
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, invalid, not_supported, required
from steersman.validation.names import label_value_faults

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MAX_WEIGHT = 100
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_HONOR = ("Honor", "Ignore")


def toleration_errors(tolerations: Sequence[JsonObject], path: str) -> Errors:
    """Validate tolerations."""
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
        if effect and effect not in TAINT_EFFECTS:
            errors.append(not_supported(f"{here}.effect", effect, TAINT_EFFECTS))
    return errors


def _value_errors(value: str, operator: str, field: str) -> Errors:
    if operator in ("Equal", ""):
        faults = label_value_faults(value) if value else []
        return [invalid(field, value, ";".join(faults))] if faults else []
    if operator == "Exists":
        return [invalid(field, value, "value must be empty when `operator` is 'Exists'")] if value else []
    return [not_supported(field, operator, ["Equal", "Exists"])]


def affinity_errors(affinity: JsonObject, path: str) -> Errors:
    """Validate node affinity, pod affinity and pod anti-affinity."""
    errors: Errors = []
    node = affinity.get("nodeAffinity") or {}
    if node.get(_REQUIRED) is not None:
        errors += node_selector_errors(node[_REQUIRED], f"{path}.nodeAffinity.{_REQUIRED}")
    for index, term in enumerate(node.get(_PREFERRED) or ()):
        here = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        errors += _weight_errors(term, here)
        errors += node_selector_term_errors(term.get("preference") or {}, f"{here}.preference")
    for name in ("podAffinity", "podAntiAffinity"):
        if affinity.get(name):
            errors += _pod_affinity_errors(affinity[name], f"{path}.{name}")
    return errors


def _weight_errors(term: JsonObject, path: str) -> Errors:
    weight = term.get("weight") or 0
    return [] if 0 < weight <= _MAX_WEIGHT else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def _pod_affinity_errors(affinity: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        errors += _pod_term_errors(term, f"{path}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        here = f"{path}.{_PREFERRED}[{index}]"
        errors += _weight_errors(weighted, here)
        errors += _pod_term_errors(weighted.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm")
    return errors


def _pod_term_errors(term: JsonObject, path: str) -> Errors:
    errors = selector_errors(term.get("labelSelector"), f"{path}.labelSelector")
    errors += selector_errors(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        errors += label_errors(name, f"{path}.namespace")
    key = term.get("topologyKey") or ""
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + qualified_errors(key, f"{path}.topologyKey")


def spread_errors(constraints: Sequence[JsonObject], path: str) -> Errors:
    """Validate topology spread constraints."""
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


def _spread_key(constraint: JsonObject) -> tuple[str, str]:
    return constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""


def _domain_errors(constraint: JsonObject, action: str, path: str) -> Errors:
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
