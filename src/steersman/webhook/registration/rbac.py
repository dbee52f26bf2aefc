"""What an operator with webhooks must be allowed: to keep certificates, and to tell the API server whom to trust."""

from collections.abc import Sequence
from typing import Any, Final

from steersman.manager.operator import Operator
from steersman.webhook.declaration import Role
from steersman.webhook.operator_webhooks import converted_definitions
from steersman.webhook.registration.configurations import secret_name

Rules = list[dict[str, Any]]

_CONFIGURATIONS: Final = {
    Role.DEFAULT: "mutatingwebhookconfigurations",
    Role.VALIDATE: "validatingwebhookconfigurations",
}


def bundle_rules(operator: Operator) -> Rules:
    """Give what it needs in the whole cluster: to look at its own configurations and definitions, and patch them."""
    roles = {webhook.role for webhook in operator.webhooks}
    resources = [resource for role, resource in _CONFIGURATIONS.items() if role in roles]
    rules = []
    if resources:
        rules.append(_rule("admissionregistration.k8s.io", resources, [operator.name], ["get", "patch"]))
    if names := converted_definitions([operator]):
        rules.append(_rule("apiextensions.k8s.io", ["customresourcedefinitions"], names, ["get", "patch"]))
    return rules


def certificate_rules(operator: Operator, secret: str = "") -> Rules:
    """Give what it needs at home: one Secret, which it makes itself unless somebody else keeps it."""
    if secret:
        return [_rule("", ["secrets"], [secret], ["get"])]
    create = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}
    return [create, _rule("", ["secrets"], [secret_name(operator.name)], ["get", "patch"])]


def _rule(group: str, resources: list[str], names: Sequence[str], verbs: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "resourceNames": list(names), "verbs": verbs}
