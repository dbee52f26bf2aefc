"""Validation of what webhooks and admission policies apply to: rules, selectors and match conditions."""

from collections.abc import Sequence

from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import qualified_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, invalid, not_supported, required, too_many
from steersman.validation.names import path_segment_faults

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
_SCOPES = ("*", "Cluster", "Namespaced")
_MOST_CONDITIONS = 64


def expression_errors(
    text: str,
    field: str,
    result: str = "bool",
    *,
    has_params: bool = False,
    has_variables: bool = False,
    makes_patches: bool = False,
) -> Errors:
    """Validate a CEL expression: it must compile, and evaluate to the type ``result`` unless that is empty."""
    # CEL takes time to import, and few tests write policies.
    from steersman.cel.program import CheckedExpression  # noqa: PLC0415 - loaded on first use
    from steersman.cel.types import DYN, Kind  # noqa: PLC0415 - loaded on first use

    names = ["object", "oldObject", "request", "namespaceObject", "authorizer"]
    names += ["params"] * has_params + ["variables"] * has_variables
    checked = CheckedExpression(text, dict.fromkeys(names, DYN), makes_patches=makes_patches)
    if checked.root is None:
        return [invalid(field, text, f"compilation failed: {checked.problem}")]
    given = checked.root.type
    if not result or (given.kind is Kind.DYN and not makes_patches) or str(given) == result:
        return []
    return [invalid(field, text, f"must evaluate to {result} but got {given}")]


def choice_errors(document: JsonObject, name: str, allowed: Sequence[str], path: str) -> Errors:
    """Validate an optional field that has a fixed set of values."""
    value = document.get(name)
    return [] if value is None or value in allowed else [not_supported(f"{path}.{name}", value, allowed)]


def _wildcard_errors(values: Sequence[str], field: str, what: str) -> Errors:
    if not values:
        return [required(field)]
    if len(values) > 1 and "*" in values:
        return [invalid(field, values, f"if '*' is present, must not specify other {what}")]
    return []


def rule_errors(rule: JsonObject, path: str) -> Errors:
    """Validate a rule that selects requests by operation, API group, version and resource."""
    operations = rule.get("operations") or []
    errors = _wildcard_errors(operations, f"{path}.operations", "operations")
    errors += [
        not_supported(f"{path}.operations[{index}]", operation, OPERATIONS)
        for index, operation in enumerate(operations)
        if operation not in OPERATIONS
    ]
    errors += _wildcard_errors(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    errors += _wildcard_errors(versions, f"{path}.apiVersions", "API versions")
    errors += [required(f"{path}.apiVersions[{index}]") for index, version in enumerate(versions) if not version]
    errors += _resource_errors(rule.get("resources") or [], f"{path}.resources")
    return errors + choice_errors(rule, "scope", _SCOPES, path)


def _resource_errors(resources: Sequence[str], field: str) -> Errors:
    if not resources:
        return [required(field)]
    errors: Errors = []
    whole: set[str] = set()
    for index, text in enumerate(resources):
        if not text:
            errors.append(required(f"{field}[{index}]"))
            continue
        resource, slash, part = text.partition("/")
        if not slash:
            continue
        errors += [
            invalid(f"{field}[{index}]", text, f"if '{taken}' is present, must not specify {text}")
            for taken in (f"{resource}/*", f"*/{part}")
            if taken in whole
        ]
        if "*" in (resource, part):
            whole.add(text)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(field, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and any("/" not in text and text not in ("", "*") for text in resources):
        text = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(field, resources, text))
    return errors


def match_resources_errors(match: JsonObject | None, path: str) -> Errors:
    """Validate the resources that a policy or its binding applies to."""
    if match is None:
        return []
    errors = choice_errors(match, "matchPolicy", MATCH_POLICIES, path)
    for name in ("namespaceSelector", "objectSelector"):
        errors += selector_errors(match.get(name), f"{path}.{name}")
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(name) or ()):
            here = f"{path}.{name}[{index}]"
            errors += _resource_name_errors(rule.get("resourceNames") or (), f"{here}.resourceNames")
            errors += rule_errors(rule, here)
    return errors


def _resource_name_errors(names: Sequence[str], path: str) -> Errors:
    errors: Errors = []
    for index, name in enumerate(names):
        errors += [invalid(f"{path}[{index}]", name, fault) for fault in path_segment_faults(name)]
        if name in names[:index]:
            errors.append(duplicate(f"{path}[{index}]", name))
    return errors


def condition_errors(conditions: Sequence[JsonObject], path: str, *, has_params: bool = False) -> Errors:
    """Validate match conditions: named CEL expressions that evaluate to a boolean."""
    errors: Errors = []
    if len(conditions) > _MOST_CONDITIONS:
        errors.append(too_many(path, len(conditions), _MOST_CONDITIONS))
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        here, name = f"{path}[{index}]", condition.get("name") or ""
        text = (condition.get("expression") or "").strip()
        if not text:
            errors.append(required(f"{here}.expression"))
        else:
            errors += expression_errors(text, f"{here}.expression", has_params=has_params)
        errors += qualified_errors(name, f"{here}.name") if name else [required(f"{here}.name")]
        if name and name in names:
            errors.append(duplicate(f"{here}.name", name))
        names.add(name)
    return errors
