"""CA bundles of webhook configurations and CRDs: what must be applied so that the API server trusts a certificate.

Only the bundle is set, and only of webhooks that exist in the cluster: the program and its configuration may be of
different releases for a while.
"""

import base64
from collections.abc import Collection
from typing import Final

from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind

DEFINITION: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def configuration_change(found: JsonObject, names: Collection[str], authority: bytes) -> JsonObject | None:
    """Return what to apply to a configuration so that the named webhooks are trusted; ``None`` if they are already."""
    entries = [entry for entry in found.get("webhooks") or () if entry["name"] in names]
    config = _trusting(authority)
    if all(entry["clientConfig"].get("caBundle") == config["caBundle"] for entry in entries):
        return None
    webhooks = [{"name": entry["name"], "clientConfig": config} for entry in entries]
    return {**_identity(found), "webhooks": webhooks}


def definition_change(found: JsonObject, authority: bytes) -> JsonObject | None:
    """Return what to apply to a CRD so that its conversion is trusted; ``None`` if it is, or if there is none."""
    webhook = (found["spec"].get("conversion") or {}).get("webhook")
    config = _trusting(authority)
    if webhook is None or (webhook.get("clientConfig") or {}).get("caBundle") == config["caBundle"]:
        return None
    return {**_identity(found), "spec": {"conversion": {"webhook": {"clientConfig": config}}}}


def _trusting(authority: bytes) -> JsonObject:
    return {"caBundle": base64.b64encode(authority).decode()}


def _identity(found: JsonObject) -> JsonObject:
    return {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "metadata": {"name": found["metadata"]["name"]},
    }
