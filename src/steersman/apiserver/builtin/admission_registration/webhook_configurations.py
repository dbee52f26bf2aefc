"""Kinds whose generation counts whatever was given: an empty list where there was none is a change."""

from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.strategy import Document
from steersman.golang.equality import json_equal


class NetworkPolicyStrategy(BuiltinStrategy):
    """NetworkPolicies compare their spec as it is in memory."""

    def is_new_generation(self, obj: Document, old: Document) -> bool:
        """Tell whether the spec is another one, be it only in what is empty."""
        return not json_equal(obj.get("spec"), old.get("spec"))


class WebhookConfigurationStrategy(BuiltinStrategy):
    """Webhook configurations compare their webhooks as they are in memory, and are written by version only."""

    unconditional_update = False

    def is_new_generation(self, obj: Document, old: Document) -> bool:
        """Tell whether the webhooks are others, be it only in what is empty."""
        return not json_equal(obj.get("webhooks"), old.get("webhooks"))
