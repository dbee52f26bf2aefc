"""Webhooks as the Operator Lifecycle Manager has them: configurations, Service and certificates are its affair."""

from typing import Final

from steersman.json_types import JsonObject
from steersman.manager.operator import Operator
from steersman.scaffold.manifests.shape import WEBHOOK_PORT, Shape, name_of
from steersman.scaffold.manifests.webhooks import address_of
from steersman.webhook.operator_webhooks import converted_definitions
from steersman.webhook.registration.configurations import CONVERSION_PATH, configuration_objects

#: Where the manager mounts the certificate that it made.
CERTIFICATES: Final = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - a mount in the pod, the manager's choice
_TYPES: Final = {
    "MutatingWebhookConfiguration": "MutatingAdmissionWebhook",
    "ValidatingWebhookConfiguration": "ValidatingAdmissionWebhook",
}
#: What a definition shares with an entry of a configuration; namespaces are the manager's affair.
_SHARED: Final = (
    "admissionReviewVersions",
    "failurePolicy",
    "matchPolicy",
    "reinvocationPolicy",
    "rules",
    "sideEffects",
    "timeoutSeconds",
)


def webhook_definitions(operator: Operator, shape: Shape) -> list[JsonObject]:
    """Return the ``webhookdefinitions`` of a ClusterServiceVersion."""
    address, name = address_of(operator, shape), name_of(operator)
    if address is None:
        return []
    port = {"deploymentName": name, "containerPort": 443, "targetPort": WEBHOOK_PORT}
    made = []
    for configuration in configuration_objects(name, operator.webhooks, address):
        for entry in configuration["webhooks"]:
            shared = {key: entry[key] for key in _SHARED if key in entry}
            path = entry["clientConfig"]["service"]["path"]
            told = {"type": _TYPES[configuration["kind"]], "generateName": entry["name"], "webhookPath": path}
            made.append({**told, **port, **shared})
    if definitions := converted_definitions([operator]):
        conversion = {
            "type": "ConversionWebhook",
            "generateName": f"convert.{name}.steer",
            "webhookPath": CONVERSION_PATH,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "conversionCRDs": definitions,
        }
        made.append({**conversion, **port})
    return made
