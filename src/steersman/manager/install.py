"""Creating or updating the custom resource definitions of an operator, and waiting until they can be used."""

from collections.abc import Iterable

from steersman.client.client import Client
from steersman.objects.resource import KubeObject, Unstructured

#: Seconds that a definition may take to be served.
ESTABLISH_TIMEOUT = 60.0


async def install_definitions(client: Client, definitions: Iterable[KubeObject | Unstructured]) -> None:
    """Apply each definition, then wait until the objects of each can be listed."""
    applied = [await client.apply(definition, force=True) for definition in definitions]
    for definition in applied:
        await client.wait_established(definition, timeout=ESTABLISH_TIMEOUT)
