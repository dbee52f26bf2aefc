"""Secrets: defaults and strategy."""

import base64

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject


def default_secret(obj: JsonObject) -> None:
    """Set the type, and turn ``stringData`` into ``data``."""
    set_default(obj, type="Opaque")
    text = obj.pop("stringData", None)
    if text:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


class SecretStrategy(BuiltinStrategy):
    """Secrets, which are selected by their type."""

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Keep the type when an update leaves it out."""
        super().prepare_update(obj, old, subresource, context)
        if not obj.get("type"):
            obj["type"] = old.get("type", "")

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return the type."""
        return {"type": obj.get("type", "")}

    def field_label_error(self, label: str) -> str:
        """Return an error unless the label is the name, the namespace or the type."""
        known = ("metadata.name", "metadata.namespace", "type")
        return "" if label in known else f"field label not supported: {label}"
