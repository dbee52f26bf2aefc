"""How a server that a command runs calls webhooks; the client for it is loaded when the first one is called."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from steersman.apiserver.webhook_calls.targets import Reply, Target, WebhookOptions
    from steersman.testing.webhook_calls import WebhookCalls


class DeferredWebhookCalls:
    """Calls webhooks. Close it when done."""

    def __init__(self) -> None:
        self._calls: WebhookCalls | None = None

    async def __call__(self, target: "Target", body: bytes, seconds: float) -> "Reply":
        """Call a webhook once."""
        if self._calls is None:
            from steersman.clock import RealClock
            from steersman.testing.webhook_calls import WebhookCalls

            self._calls = WebhookCalls(RealClock())
        return await self._calls(target, body, seconds)

    async def close(self) -> None:
        """Close every connection."""
        if self._calls is not None:
            await self._calls.close()


def webhook_options(
    calls: DeferredWebhookCalls, services: Sequence[str] = (), *, remote: bool = False
) -> "WebhookOptions":
    """Read where services are: each ``NAMESPACE/NAME[:PORT]=HOST:PORT``."""
    from steersman.apiserver.webhook_calls.targets import WebhookOptions

    found = {}
    for text in services:
        service, mark, address = text.partition("=")
        namespace, slash, name = service.partition("/")
        host, colon, port = address.rpartition(":")
        if not (mark and slash and namespace and name and colon and host and port.isdigit()):
            raise click.BadParameter(f"{text!r} is not NAMESPACE/NAME[:PORT]=HOST:PORT", param_hint="--webhook")
        found[service] = address
    return WebhookOptions(caller=calls, services=found, remote=remote)
