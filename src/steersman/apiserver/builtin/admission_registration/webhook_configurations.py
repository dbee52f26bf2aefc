"""Webhook configurations: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.golang.equality import json_equal
from steersman.json_types import JsonObject


def _default_webhook(hook: JsonObject) -> None:
    set_default(hook, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
    for name in ("namespaceSelector", "objectSelector"):
        if hook.get(name) is None:
            hook[name] = {}
    for rule in hook.get("rules") or ():
        set_default(rule, scope="*")
    service = (hook.get("clientConfig") or {}).get("service")
    if service is not None:
        set_default(service, port=443)


def default_webhooks(obj: JsonObject) -> None:
    """Set the defaults of a ValidatingWebhookConfiguration."""
    for hook in obj.get("webhooks") or ():
        _default_webhook(hook)


def default_mutating_webhooks(obj: JsonObject) -> None:
    """Set the defaults of a MutatingWebhookConfiguration."""
    for hook in obj.get("webhooks") or ():
        _default_webhook(hook)
        set_default(hook, reinvocationPolicy="Never")


class WebhookConfigurationStrategy(BuiltinStrategy):
    """Webhook configurations, which are updated only with a resource version."""

    unconditional_update = False

    def is_new_generation(self, obj: JsonObject, old: JsonObject) -> bool:
        """Return whether the webhooks changed, counting empty and absent as different."""
        return not json_equal(obj.get("webhooks"), old.get("webhooks"))
