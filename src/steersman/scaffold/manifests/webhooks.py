"""An operator's webhooks in a cluster: their Service, their configurations, and the admission policies."""

from steersman.json_types import JsonObject
from steersman.manager.operator import Operator
from steersman.scaffold.manifests.shape import WEBHOOK_PORT, Shape, labels_of, metadata, name_of, selector_of
from steersman.webhook.operator_webhooks import need_webhooks
from steersman.webhook.registration.configurations import configuration_objects, service_name
from steersman.webhook.registration.policies import policy_objects
from steersman.webhook.serving.address import ServiceAddress


def address_of(operator: Operator, shape: Shape) -> ServiceAddress | None:
    """Return where the webhooks of a deployed operator are found; nowhere if it has none."""
    return ServiceAddress(shape.namespace, service_name(name_of(operator))) if need_webhooks([operator]) else None


def arguments_of(operator: Operator, shape: Shape) -> list[str]:
    """Return the arguments of the image's ``steer run`` about webhooks."""
    address = address_of(operator, shape)
    if address is None:
        return []
    given = {"secret": shape.webhook_secret, "certs": shape.webhook_certs}
    own = [f"--webhook-{kind}={place}" for kind, place in given.items() if place]
    return [f"--webhook-service={address}", "--webhook-host=0.0.0.0", f"--webhook-port={WEBHOOK_PORT}", *own]


def service_objects(operator: Operator, shape: Shape) -> list[JsonObject]:
    """Return the Service of the webhooks; empty if there are none."""
    address = address_of(operator, shape)
    if address is None:
        return []
    name = name_of(operator)
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(address.name, of=name, namespace=shape.namespace),
            "spec": {
                "selector": selector_of(name),
                "ports": [{"name": "webhooks", "port": 443, "targetPort": "webhooks", "protocol": "TCP"}],
            },
        }
    ]


def webhook_configurations(operator: Operator, shape: Shape) -> list[JsonObject]:
    """Return the configurations; the operator itself sets the CA bundle, once it runs."""
    address = address_of(operator, shape)
    if address is None:
        return []
    return _labelled(operator, configuration_objects(name_of(operator), operator.webhooks, address))


def admission_policies(operator: Operator) -> list[JsonObject]:
    """Return the policies of rules that no CRD can hold."""
    return _labelled(operator, policy_objects(operator.name, operator.kinds, operator))


def _labelled(operator: Operator, objects: list[JsonObject]) -> list[JsonObject]:
    labels = labels_of(name_of(operator))
    return [{**obj, "metadata": {**obj["metadata"], "labels": labels}} for obj in objects]
