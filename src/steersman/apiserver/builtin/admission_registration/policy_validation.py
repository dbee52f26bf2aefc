"""Validation of admission policies and their bindings."""

import re
from collections.abc import Sequence

from steersman.apiserver.builtin.admission_registration.match_validation import (
    FAILURE_POLICIES,
    choice_errors,
    condition_errors,
    expression_errors,
    match_resources_errors,
)
from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import qualified_errors, required_name, subdomain_errors
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, FieldError, duplicate, forbidden, invalid, not_supported, required
from steersman.validation.names import kind_faults, path_segment_faults

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_NOTHING = "validations or auditAnnotations must contain at least one item"
_EXCLUSIVE = "name and selector are mutually exclusive"
_MOST_ANNOTATIONS = 20
_PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
#: What an expression of each kind must evaluate to.
_RESULTS = {"ApplyConfiguration": "Object", "JSONPatch": "list(JSONPatch)"}
_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_REINVOCATIONS = ("IfNeeded", "Never")


def policy_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ValidatingAdmissionPolicy."""
    spec = obj.get("spec") or {}
    if subresource == "status" or (old is not None and same_content(spec, old.get("spec"))):
        return []
    errors = _common_errors(spec)
    checks, notes = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not checks and not notes:
        return [*errors, *(required(f"spec.{name}", _NOTHING) for name in ("validations", "auditAnnotations"))]
    for index, check in enumerate(checks):
        errors += _validation_errors(check, spec, f"spec.validations[{index}]")
    return errors + _annotation_errors(notes, obj, "spec.auditAnnotations")


def _common_errors(spec: JsonObject, operation_errors: Sequence[FieldError] = ()) -> Errors:
    """Validate what both kinds of policies have; errors about operations come after those about their rules."""
    errors = choice_errors(spec, "failurePolicy", FAILURE_POLICIES, "spec")
    if spec.get("paramKind") is not None:
        errors += _param_kind_errors(spec["paramKind"], "spec.paramKind")
    match = spec.get("matchConstraints")
    if match is None:
        errors.append(required("spec.matchConstraints"))
    else:
        errors += match_resources_errors(match, "spec.matchConstraints")
        if not match.get("resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
    errors += operation_errors
    has_params = spec.get("paramKind") is not None
    errors += condition_errors(spec.get("matchConditions") or (), "spec.matchConditions", has_params=has_params)
    for index, variable in enumerate(spec.get("variables") or ()):
        errors += _variable_errors(variable, spec, f"spec.variables[{index}]")
    return errors


def _param_kind_errors(kind: JsonObject, path: str) -> Errors:
    version = kind.get("apiVersion") or ""
    errors: Errors = [] if version else [required(f"{path}.apiVersion")]
    if version.count("/") > 1:
        errors.append(invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    name = kind.get("kind") or ""
    if not name:
        return [*errors, required(f"{path}.kind")]
    return errors + [invalid(f"{path}.kind", name, fault) for fault in kind_faults(name)]


def _compiled(text: str, field: str, spec: JsonObject, result: str, *, makes_patches: bool = False) -> Errors:
    return expression_errors(
        text,
        field,
        result,
        makes_patches=makes_patches,
        has_params=spec.get("paramKind") is not None,
        has_variables=bool(spec.get("variables")),
    )


def _variable_errors(variable: JsonObject, spec: JsonObject, path: str) -> Errors:
    name, text = variable.get("name") or "", variable.get("expression") or ""
    errors: Errors = []
    if not name.strip():
        errors.append(required(f"{path}.name", "name is not specified"))
    elif not re.fullmatch("[_a-zA-Z][_a-zA-Z0-9]*", name):
        errors.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
    if not text.strip():
        return [*errors, required(f"{path}.expression", "expression is not specified")]
    return errors + _compiled(text, f"{path}.expression", spec, "")


def _validation_errors(check: JsonObject, spec: JsonObject, path: str) -> Errors:
    text = check.get("expression") or ""
    if text.strip():
        errors = _compiled(text, f"{path}.expression", spec, "bool")
    else:
        errors = [required(f"{path}.expression", "expression is not specified")]
    own, message = check.get("messageExpression") or "", check.get("message") or ""
    if own and not own.strip():
        errors.append(invalid(f"{path}.messageExpression", own, "must be non-empty if specified"))
    elif own:
        errors += _compiled(own, f"{path}.messageExpression", spec, "string")
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif re.search(r"[\n\r]", message.strip()):
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    return errors + choice_errors(check, "reason", _REASONS, path)


def _annotation_errors(notes: Sequence[JsonObject], obj: JsonObject, path: str) -> Errors:
    errors: Errors = []
    if len(notes) > _MOST_ANNOTATIONS:
        errors.append(invalid(path, notes, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"))
    keys: set[str] = set()
    for index, note in enumerate(notes):
        here, key = f"{path}[{index}]", note.get("key") or ""
        errors += qualified_errors(f"{obj['metadata'].get('name', '')}/{key}", f"{here}.key")
        text = (note.get("valueExpression") or "").strip()
        if not text:
            errors.append(required(f"{here}.valueExpression", "valueExpression is not specified"))
        else:
            # The value may be a string or null; which one is known only when it is evaluated.
            errors += _compiled(text, f"{here}.valueExpression", obj.get("spec") or {}, "")
        if key in keys:
            errors.append(duplicate(f"{here}.key", key))
        keys.add(key)
    return errors


def mutating_policy_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a MutatingAdmissionPolicy."""
    spec = obj.get("spec") or {}
    if subresource == "status" or (old is not None and same_content(spec, old.get("spec"))):
        return []
    errors = _common_errors(spec, _mutable_operation_errors(spec.get("matchConstraints"), "spec.matchConstraints"))
    if not spec.get("mutations"):
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for index, mutation in enumerate(spec.get("mutations") or ()):
        errors += _mutation_errors(mutation, spec, f"spec.mutations[{index}]")
    policy = spec.get("reinvocationPolicy") or ""
    if not policy:
        errors.append(required("spec.reinvocationPolicy"))
    elif policy not in _REINVOCATIONS:
        errors.append(not_supported("spec.reinvocationPolicy", policy, _REINVOCATIONS))
    return errors


def _mutable_operation_errors(match: JsonObject | None, path: str) -> Errors:
    """Reject operations that have no object to change."""
    rules = (match or {}).get("resourceRules") or ()
    return [
        not_supported(f"{path}.resourceRules.operations", operation, _MUTABLE)
        for rule in rules
        for operation in rule.get("operations") or ()
        if operation not in _MUTABLE
    ]


def _mutation_errors(mutation: JsonObject, spec: JsonObject, path: str) -> Errors:
    kind = mutation.get("patchType") or ""
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _PATCHES:
        return [not_supported(f"{path}.patchType", kind, sorted(_PATCHES))]
    errors: Errors = []
    for patch, name in _PATCHES.items():
        given = mutation.get(name)
        if patch == kind and given is None:
            errors.append(required(f"{path}.{name}", f"must be specified when patchType is {kind}"))
        elif patch == kind:
            errors += _patch_errors(given, spec, kind, f"{path}.{name}.expression")
        elif patch != kind and given is not None:
            text = f"must not be specified when patchType is {kind}"
            errors.append(invalid(f"{path}.{name}", f"{{{name}}}", text))
    return errors


def _patch_errors(patch: JsonObject | None, spec: JsonObject, kind: str, field: str) -> Errors:
    text = ((patch or {}).get("expression") or "").strip()
    return _compiled(text, field, spec, _RESULTS[kind], makes_patches=True) if text else [required(field)]


def policy_binding_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ValidatingAdmissionPolicyBinding."""
    del old, subresource
    spec = obj.get("spec") or {}
    errors = _binding_errors(spec)
    actions = spec.get("validationActions") or []
    path = "spec.validationActions"
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"{path}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            errors.append(duplicate(f"{path}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        why = "repeating the same validation failure information in the API response and headers serves no purpose"
        errors.append(invalid(path, actions, f"must not contain both Deny and Warn ({why})"))
    if not actions:
        errors.append(required(path, "at least one validation action is required"))
    return errors


def mutating_policy_binding_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a MutatingAdmissionPolicyBinding."""
    del old, subresource
    spec = obj.get("spec") or {}
    return _binding_errors(spec) + _mutable_operation_errors(spec.get("matchResources"), "spec.matchResources")


def _binding_errors(spec: JsonObject) -> Errors:
    errors = required_name(spec, "policyName", "spec", subdomain_errors)
    if spec.get("paramRef") is not None:
        errors += _param_ref_errors(spec["paramRef"], "spec.paramRef")
    return errors + match_resources_errors(spec.get("matchResources"), "spec.matchResources")


def _param_ref_errors(reference: JsonObject, path: str) -> Errors:
    name, selector = reference.get("name") or "", reference.get("selector")
    errors: Errors = [invalid(f"{path}.name", name, fault) for fault in path_segment_faults(name)]
    errors += selector_errors(selector, f"{path}.selector")
    if name and selector is not None:
        errors += [forbidden(f"{path}.{field}", _EXCLUSIVE) for field in ("name", "selector")]
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction") or ""
    if not action:
        errors.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in ("Deny", "Allow"):
        errors.append(not_supported(f"{path}.parameterNotFoundAction", action, ["Deny", "Allow"]))
    return errors
