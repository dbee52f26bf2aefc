"""RBAC rules that webhooks need: keeping certificates in a Secret, and setting the CA bundle that the server trusts."""

from collections.abc import Sequence
from typing import Final

from steersman.json_types import JsonObject
from steersman.webhook.declaration import WebhookRole
from steersman.webhook.declarations import WebhookOwner
from steersman.webhook.operator_webhooks import converted_definitions
from steersman.webhook.registration.configurations import secret_name

Rules = list[JsonObject]

_CONFIGURATIONS: Final = {
    WebhookRole.DEFAULT: "mutatingwebhookconfigurations",
    WebhookRole.VALIDATE: "validatingwebhookconfigurations",
}


def bundle_rules(operator: WebhookOwner) -> Rules:
    """Return the cluster-wide rules: get and patch the operator's own configurations and CRDs."""
    roles = {webhook.role for webhook in operator.webhooks}
    resources = [resource for role, resource in _CONFIGURATIONS.items() if role in roles]
    rules = []
    if resources:
        rules.append(_rule("admissionregistration.k8s.io", resources, [operator.name], ["get", "patch"]))
    if names := converted_definitions([operator]):
        rules.append(_rule("apiextensions.k8s.io", ["customresourcedefinitions"], names, ["get", "patch"]))
    return rules


def certificate_rules(operator: WebhookOwner, secret: str = "") -> Rules:
    """Return the rules in the operator's own namespace: one Secret, which it creates unless ``secret`` names one."""
    if secret:
        return [_rule("", ["secrets"], [secret], ["get"])]
    create = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}
    return [create, _rule("", ["secrets"], [secret_name(operator.name)], ["get", "patch"])]


def _rule(group: str, resources: list[str], names: Sequence[str], verbs: list[str]) -> JsonObject:
    return {"apiGroups": [group], "resources": resources, "resourceNames": list(names), "verbs": verbs}
