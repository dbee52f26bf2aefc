"""ValidatingAdmissionPolicies made from rules, which the API server evaluates itself without calling a webhook.

There is one policy and one binding for each kind and set of operations.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, cast

from steersman.errors import DeclarationError
from steersman.json_types import JsonObject
from steersman.objects.identity import ApiResource
from steersman.objects.resource import KubeObject, resource_of
from steersman.schema.crd import CustomClass, policy_rules_of
from steersman.schema.declaration import is_custom
from steersman.schema.policy_rules import PlacedRule, message_expression, policy_expression
from steersman.webhook.declarations import AdmissionDeclarations
from steersman.webhook.registration.configurations import NOT_BEING_DELETED
from steersman.webhook.reviews.admission_review import Operation

_API_VERSION: Final = "admissionregistration.k8s.io/v1"
#: Variables of policy expressions, besides the authorizer.
_VARIABLES: Final = ("object", "oldObject", "request", "namespaceObject")
_REASONS: Final = {
    "FieldValueForbidden": "Forbidden",
    "FieldValueInvalid": "Invalid",
    "FieldValueRequired": "Invalid",
    "FieldValueDuplicate": "Invalid",
}
#: In Kubernetes this is a field of the authorizer, in our CEL library a function.
_OWN: Final = re.compile(r"\bauthorizer\.requestResource\b(?!\()")


def policy_objects(
    operator: str, kinds: Iterable[type[KubeObject]], declared: AdmissionDeclarations
) -> list[JsonObject]:
    """Return the policies and bindings for the rules in the classes of ``kinds`` and for those ``declared``."""
    grouped: dict[tuple[type[KubeObject], tuple[Operation, ...]], list[PlacedRule]] = {}
    for kind, on, placed in _rules(kinds, declared):
        grouped.setdefault((kind, on), []).append(placed)
    made: list[JsonObject] = []
    for (kind, on), rules in grouped.items():
        resource = resource_of(kind)
        name = _name(operator, resource, on)
        made += [_policy(name, resource, on, rules), _binding(name)]
    return made


def _rules(
    kinds: Iterable[type[KubeObject]], declared: AdmissionDeclarations
) -> Iterator[tuple[type[KubeObject], tuple[Operation, ...], PlacedRule]]:
    for kind in kinds:
        if is_custom(kind):
            for placed in policy_rules_of(cast("CustomClass", kind)):
                yield kind, ("CREATE", "UPDATE"), placed
    for rule in declared.rules:
        yield rule.kind, rule.on, PlacedRule(rule.rule)


def _name(operator: str, resource: ApiResource, on: tuple[Operation, ...]) -> str:
    """Return the name of a policy; CREATE and UPDATE, the usual operations, are not part of it."""
    extra = "" if set(on) == {"CREATE", "UPDATE"} else f".{'-'.join(on).lower()}"
    return f"{operator}.{resource.plural}.{resource.gvk.version}.{resource.gvk.group or 'core'}{extra}"


def _policy(name: str, resource: ApiResource, on: tuple[Operation, ...], rules: list[PlacedRule]) -> JsonObject:
    matched = {
        "apiGroups": [resource.gvk.group],
        "apiVersions": [resource.gvk.version],
        "operations": list(on),
        "resources": [resource.plural],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [matched]},
        "matchConditions": [NOT_BEING_DELETED],
        "validations": [_validation(resource, placed) for placed in rules],
    }
    return {
        "apiVersion": _API_VERSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def _binding(name: str) -> JsonObject:
    return {
        "apiVersion": _API_VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def _validation(resource: ApiResource, placed: PlacedRule) -> JsonObject:
    rule = placed.rule
    made = {"expression": _checked(resource, rule.cel, policy_expression(placed))}
    where = ".".join(placed.path) + rule.field_path
    if rule.message:
        made["message"] = f"{where.removeprefix('.')}: {rule.message}" if where else rule.message
    if computed := message_expression(placed):
        made["messageExpression"] = _checked(resource, rule.message_expression, computed)
    if rule.reason is not None:
        made["reason"] = _REASONS[rule.reason]
    return made


def _checked(resource: ApiResource, written: str, expression: str) -> str:
    """Return the expression; raise ``DeclarationError`` that names the rule if it does not compile."""
    # Imported here: few operators have such rules, and CEL is slow to import.
    from steersman.cel import ExpressionError, compile_expression  # noqa: PLC0415 - see above
    from steersman.cel.library.authorizer import AUTHORIZER  # noqa: PLC0415 - see above
    from steersman.cel.types import DYN  # noqa: PLC0415 - see above

    variables = {**dict.fromkeys(_VARIABLES, DYN), "authorizer": AUTHORIZER}
    try:
        compile_expression(_OWN.sub("authorizer.requestResource()", expression), variables)
    except ExpressionError as error:
        raise DeclarationError(f"the rule {written!r} about {resource.gvk} is invalid: {error}") from None
    return expression
