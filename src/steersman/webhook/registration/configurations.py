"""The webhook configurations of an operator, from what it declares: who is asked about which writes, and where.

The certificates that the API server must trust are no part of them: they change by themselves, and are set apart, under
a field manager of their own, so that applying a configuration again never takes them away.
"""

from collections.abc import Iterable
from typing import Any, Final

from steersman.kinds.index import MODULES
from steersman.webhook.declaration import Role, Webhook
from steersman.webhook.serving.address import Address, ServiceAddress

Document = dict[str, Any]

_API_VERSION: Final = "admissionregistration.k8s.io/v1"
#: Where conversions are asked for.
CONVERSION_PATH: Final = "/convert"
_KINDS: Final = {Role.DEFAULT: "MutatingWebhookConfiguration", Role.VALIDATE: "ValidatingWebhookConfiguration"}
#: Nobody is kept from removing a finalizer: an object that is going away is not judged any more.
NOT_GOING: Final = {
    "name": "is-not-being-deleted",
    "expression": "request.operation != 'UPDATE' || !has(object.metadata.deletionTimestamp)",
}


def configuration_objects(operator: str, webhooks: Iterable[Webhook[Any]], address: Address) -> list[Document]:
    """Make the configurations of an operator; those that would be empty are left out."""
    made = []
    for role, kind in _KINDS.items():
        entries = [_entry(operator, webhook, address) for webhook in webhooks if webhook.role is role]
        if entries:
            metadata = {"name": operator}
            made.append({"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata, "webhooks": entries})
    return made


def _entry(operator: str, webhook: Webhook[Any], address: Address) -> Document:
    resource, options = webhook.resource, webhook.options
    rule = {
        "apiGroups": [resource.gvk.group],
        "apiVersions": [resource.gvk.version],
        "operations": list(options.on),
        "resources": [resource.plural],
        "scope": "Namespaced" if resource.namespaced else "Cluster",
    }
    entry: Document = {
        "name": full_name(operator, webhook),
        "admissionReviewVersions": ["v1"],
        "clientConfig": address.client_config(webhook.path(operator)),
        "failurePolicy": options.failure,
        "matchConditions": [NOT_GOING],
        "matchPolicy": "Equivalent",
        "rules": [rule],
        # Functions are told of dry runs, and are called in them.
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": options.timeout,
    }
    if _could_lock_itself_out(webhook) and isinstance(address, ServiceAddress):
        here = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [address.namespace]}
        entry["namespaceSelector"] = {"matchExpressions": [here]}
    if webhook.role is Role.DEFAULT:
        # A default fills what is missing, and others may add what misses something.
        entry["reinvocationPolicy"] = "IfNeeded"
    return entry


def _could_lock_itself_out(webhook: Webhook[Any]) -> bool:
    """Tell whether the operator's own objects could be judged: its pods must start before there is anybody to ask."""
    return webhook.resource.namespaced and webhook.resource.gvk.api_version in MODULES


def full_name(operator: str, webhook: Webhook[Any]) -> str:
    """Name a webhook as messages show it: a domain of at least three parts."""
    return f"{webhook.name}.{operator}.{webhook.resource.gvk.group or 'core'}"


def conversion_by(address: Address) -> Document:
    """Give the ``conversion`` of a definition whose versions the webhooks convert."""
    webhook = {"clientConfig": address.client_config(CONVERSION_PATH), "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": webhook}


def service_name(operator: str) -> str:
    """Name the Service through which an operator's webhooks are called."""
    return f"{operator}-webhooks"


def secret_name(operator: str) -> str:
    """Name the Secret in which an operator keeps its own certificates."""
    return f"{operator}-webhook-certificates"
