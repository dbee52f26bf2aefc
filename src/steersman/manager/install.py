"""Create or update custom resource definitions without ever weakening a conversion between versions.

Which conversion a definition gets:

- The caller serves the webhook and passes its address: that address. It is not changed from an existing Service to a
  URL, because the deployed operator would keep setting its own CA bundle there.
- The caller passes no address, and the definition in the cluster has ``strategy: Webhook``: it stays. Whether that
  webhook answers cannot be known from here (a failed call proves nothing about the next one), while without it the API
  server silently drops the fields that a version does not have.
- The caller passes no address, and the cluster has none: rejected for kinds whose versions need conversion functions.

A definition may change between the read and the write, so it is applied at the version that was read; after a conflict
it is read again.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

from steersman.client.client import Client
from steersman.errors import ConfigError, Conflict, Forbidden
from steersman.json_types import JsonObject
from steersman.kinds.core_v1 import Service
from steersman.objects.codec import to_json
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import KubeObject, Unstructured
from steersman.protocol.options import Preconditions

#: Seconds that a definition may take to be served.
ESTABLISH_TIMEOUT = 60.0
_DEFINITION: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
#: Attempts after conflicts; the server itself writes the status of a new definition a few times.
_TRIES: Final = 10


async def install_definitions(
    client: Client, definitions: Iterable[KubeObject | Unstructured], *, converted: Collection[str] = ()
) -> None:
    """Apply each definition, then wait until the objects of each can be listed.

    ``converted`` names the definitions whose versions are converted by functions. Raises ``ConfigError`` before the
    first write if one of them would have no conversion.
    """
    wanted = [Unstructured(to_json(definition)) for definition in definitions]
    await check_conversions(client, wanted, converted)
    for definition in wanted:
        await apply_definition(client, definition, is_converted=definition.name in converted)
    for definition in wanted:
        await client.wait_established(definition, timeout=ESTABLISH_TIMEOUT)


async def check_conversions(client: Client, wanted: Iterable[Unstructured], converted: Collection[str]) -> None:
    """Raise ``ConfigError`` for the first definition that cannot be applied without losing a conversion."""
    for definition in wanted:
        await _intent_now(client, definition, is_converted=definition.name in converted)


async def apply_definition(client: Client, wanted: Unstructured, *, is_converted: bool) -> Unstructured:
    """Apply one definition, keeping the conversion that is there, and return it as the server has it now."""
    tries = 0
    while True:
        intent, version = await _intent_now(client, wanted, is_converted=is_converted)
        try:
            return await client.apply(intent, force=True, preconditions=Preconditions(resource_version=version))
        except Conflict:
            tries += 1
            if tries == _TRIES:
                raise


async def _intent_now(client: Client, wanted: Unstructured, *, is_converted: bool) -> tuple[Unstructured, str]:
    """Return what to apply to the definition in the cluster, and the version that this was decided for."""
    found = await client.try_get(_DEFINITION, wanted.name)
    live = found.content if found is not None else None
    intent = definition_intent(wanted.content, live, manager=client.field_manager, is_converted=is_converted)
    if live is not None:
        await _reject_takeover(client, intent, live)
    return Unstructured(intent), found.resource_version if found is not None else ""


def definition_intent(wanted: JsonObject, live: JsonObject | None, *, manager: str, is_converted: bool) -> JsonObject:
    """Return what a field manager has to apply so that a definition becomes as wanted and no conversion ends.

    Raises ``ConfigError`` if the versions need a conversion that is neither wanted nor there.
    """
    if "conversion" in wanted["spec"] or len(wanted["spec"]["versions"]) == 1:
        return wanted
    conversion = (live or {}).get("spec", {}).get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        if is_converted:
            raise ConfigError(_not_served(wanted))
        return wanted
    owned = _owned_conversion(live or {}, manager)
    # If we own no part of it, leaving it out keeps it unchanged, and its owner can change it without a conflict.
    return {**wanted, "spec": {**wanted["spec"], "conversion": owned}} if owned else wanted


def _not_served(wanted: JsonObject) -> str:
    versions = [version["name"] for version in wanted["spec"]["versions"]]
    return (
        f"{wanted['metadata']['name']}: {', '.join(versions[:-1])} and {versions[-1]} differ in their fields, and "
        "nothing would convert between them: objects would lose fields silently. Deploy the operator with 'steer "
        "deploy', run it with 'steer run --install-crds --webhook-url https://HOST:PORT' where the API server can call "
        "it, or develop with 'steer dev'"
    )


def _owned_conversion(live: JsonObject, manager: str) -> JsonObject:
    """Return the part of a definition's conversion that a manager applied before, with its current values."""
    for entry in live.get("metadata", {}).get("managedFields") or ():
        if (entry.get("manager"), entry.get("operation")) == (manager, "Apply"):
            fields = entry.get("fieldsV1", {}).get("f:spec", {}).get("f:conversion")
            owned: JsonObject = _owned_part(live["spec"]["conversion"], fields) if fields else {}
            return owned
    return {}


def _owned_part(value: Any, fields: JsonObject) -> Any:
    if not fields or not isinstance(value, dict):
        return value
    return {key: _owned_part(inner, fields[f"f:{key}"]) for key, inner in value.items() if f"f:{key}" in fields}


def client_config_of(definition: JsonObject) -> JsonObject:
    """Return how the API server calls the conversion webhook of a definition; empty if there is none."""
    conversion = definition["spec"].get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return {}
    config: JsonObject = (conversion.get("webhook") or {}).get("clientConfig") or {}
    return config


async def _reject_takeover(client: Client, intent: JsonObject, live: JsonObject) -> None:
    service = client_config_of(live).get("service")
    if not client_config_of(intent).get("url") or not service:
        return
    place = f"{service['namespace']}/{service['name']}"
    try:
        if await client.try_get(Service, service["name"], service["namespace"]) is None:
            return
    except Forbidden:
        pass  # It may exist.
    raise ConfigError(
        f"{live['metadata']['name']}: its versions are converted by service {place}, which a deployed operator serves: "
        "leave out --install-crds and --webhook-url to let it, or run 'steer undeploy' first"
    )
