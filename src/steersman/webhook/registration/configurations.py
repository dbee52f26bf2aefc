"""The webhook configurations of an operator, made from its declarations.

They do not contain the CA bundle: it changes independently and is applied under a field manager of its own (``trust``),
so that applying a configuration again never removes it.
"""

from collections.abc import Iterable
from typing import Any, Final

from steersman.json_types import JsonObject
from steersman.kinds.index import MODULES
from steersman.webhook.declaration import Webhook, WebhookRole
from steersman.webhook.serving.address import Address, ServiceAddress

_API_VERSION: Final = "admissionregistration.k8s.io/v1"
#: Path of the conversion webhook.
CONVERSION_PATH: Final = "/convert"
_KINDS: Final = {
    WebhookRole.DEFAULT: "MutatingWebhookConfiguration",
    WebhookRole.VALIDATE: "ValidatingWebhookConfiguration",
}
#: Match condition of every webhook and policy: an object that is being deleted is not checked, so that finalizers can
#: always be removed.
NOT_BEING_DELETED: Final = {
    "name": "is-not-being-deleted",
    "expression": "request.operation != 'UPDATE' || !has(object.metadata.deletionTimestamp)",
}


def configuration_objects(operator: str, webhooks: Iterable[Webhook[Any]], address: Address) -> list[JsonObject]:
    """Return the configurations of an operator, without empty ones."""
    made = []
    for role, kind in _KINDS.items():
        entries = [_entry(operator, webhook, address) for webhook in webhooks if webhook.role is role]
        if entries:
            metadata = {"name": operator}
            made.append({"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata, "webhooks": entries})
    return made


def _entry(operator: str, webhook: Webhook[Any], address: Address) -> JsonObject:
    resource, options = webhook.resource, webhook.options
    rule = {
        "apiGroups": [resource.gvk.group],
        "apiVersions": [resource.gvk.version],
        "operations": list(options.on),
        "resources": [resource.plural],
        "scope": "Namespaced" if resource.namespaced else "Cluster",
    }
    entry: JsonObject = {
        "name": full_name(operator, webhook),
        "admissionReviewVersions": ["v1"],
        "clientConfig": address.client_config(webhook.path(operator)),
        "failurePolicy": options.failure,
        "matchConditions": [NOT_BEING_DELETED],
        "matchPolicy": "Equivalent",
        "rules": [rule],
        # Functions are called in dry runs too; ``Admission.dry_run`` tells them.
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": options.timeout,
    }
    if _could_lock_itself_out(webhook) and isinstance(address, ServiceAddress):
        here = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [address.namespace]}
        entry["namespaceSelector"] = {"matchExpressions": [here]}
    if webhook.role is WebhookRole.DEFAULT:
        # A webhook that runs later may add something that needs defaults as well.
        entry["reinvocationPolicy"] = "IfNeeded"
    return entry


def _could_lock_itself_out(webhook: Webhook[Any]) -> bool:
    """Return whether the operator's own objects could be reviewed: its pods must start before the webhook answers."""
    return webhook.resource.namespaced and webhook.resource.gvk.api_version in MODULES


def full_name(operator: str, webhook: Webhook[Any]) -> str:
    """Return the full name of a webhook as error messages show it: a domain of at least three parts."""
    return f"{webhook.name}.{operator}.{webhook.resource.gvk.group or 'core'}"


def conversion_by(address: Address) -> JsonObject:
    """Return the ``conversion`` of a CRD whose versions the webhook converts."""
    webhook = {"clientConfig": address.client_config(CONVERSION_PATH), "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": webhook}


def service_name(operator: str) -> str:
    """Return the name of the Service of an operator's webhooks."""
    return f"{operator}-webhooks"


def secret_name(operator: str) -> str:
    """Return the name of the Secret with an operator's own certificates."""
    return f"{operator}-webhook-certificates"
