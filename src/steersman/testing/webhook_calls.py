"""`WebhookCalls`: how an embedded API server calls webhooks, over HTTPS or in this process.

The server itself has no client; it is handed in (``WebhookOptions.caller``).
"""

from urllib.parse import urlsplit

from steersman.apiserver.webhook_calls.targets import CallFailed, Reply, Target, trace_context
from steersman.clock import Clock
from steersman.errors import ConfigError, NoAnswer, TransportError
from steersman.protocol.http import App, Request, Response
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig
from steersman.transport.http.tls import TlsConfig
from steersman.transport.http.transport import HttpTransport
from steersman.transport.in_memory import InMemoryTransport
from steersman.transport.limits import Limits

#: Limit of a webhook's response: somewhat more than the largest object, twice.
_LIMITS = Limits(connect=10.0, body=8 << 20)


class WebhookCalls:
    """Calls webhooks, and keeps connections open until closed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._transports: dict[tuple[object, ...], Transport] = {}
        self._apps: dict[str, InMemoryTransport] = {}

    def __repr__(self) -> str:
        return f"<WebhookCalls connected to {len(self._transports)}, in this process {len(self._apps)}>"

    def serve(self, server_name: str, app: App) -> None:
        """Serve a server name with an app of this process, without any network."""
        self._apps[server_name] = InMemoryTransport(app, clock=self._clock)

    async def __call__(self, target: Target, body: bytes, seconds: float) -> Reply:
        """Call a webhook once, without retries."""
        parts = urlsplit(target.url)
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        headers = {"content-type": "application/json", "accept": "application/json"}
        if trace := trace_context.get():
            headers["traceparent"] = trace
        try:
            transport = self._apps.get(target.server_name) or self._transport(target)
            response = await transport.request(Request("POST", path, headers, body), timeout=seconds)
        except NoAnswer:
            raise CallFailed("context deadline exceeded") from None
        except (TransportError, ConfigError) as error:
            raise CallFailed(str(error)) from None
        return _reply(response)

    def _transport(self, target: Target) -> Transport:
        key = (target.address, target.server_name, target.authority)
        known = self._transports.get(key)
        if known is None:
            host, port = target.address
            shown = f"[{host}]" if ":" in host else host
            tls = TlsConfig(ca=target.authority.decode("utf-8", "replace") or None, server_name=target.server_name)
            config = ClusterConfig(server=f"https://{shown}:{port}", tls=tls, compression=False)
            known = self._transports[key] = HttpTransport(config, clock=self._clock, limits=_LIMITS)
        return known

    async def close(self) -> None:
        """Close every connection."""
        for transport in [*self._transports.values(), *self._apps.values()]:
            await transport.close()


def _reply(response: Response) -> Reply:
    return Reply(response.status, response.body, response.header("content-type", "application/json"))
