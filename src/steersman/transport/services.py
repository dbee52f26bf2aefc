"""HTTP services other than the Kubernetes API: what operators call besides their cluster.

Connections are kept alive, one set for each server, and closed together. In a test an app of the same process can serve
a URL, so that nothing listens and time can stand still.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TypeAlias
from urllib.parse import urlsplit

from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.objects.codec import encode_json
from steersman.protocol.http import SAFE_METHODS, App, Request, Response, WriteFence
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig
from steersman.transport.endpoint import Endpoint
from steersman.transport.http.transport import HttpTransport
from steersman.transport.in_memory import InMemoryTransport
from steersman.transport.limits import Limits

#: Default timeout of one call in seconds, retries included.
SERVICE_TIMEOUT = 30.0
_LIMITS = Limits(connect=10.0, body=64 << 20)


class ServiceCall:
    """One request to a service while it is under way, for an observer. It has no path: that is often a secret."""

    __slots__ = ("clock", "headers", "method", "server", "status")

    def __init__(self, method: str, server: Endpoint, clock: Clock) -> None:
        self.method = method
        self.server = server
        self.clock = clock
        #: Headers that the observer adds; callers may replace them.
        self.headers: dict[str, str] = {}
        #: Status of the answer; 0 without one.
        self.status = 0


#: Called for each request; its block is left when the request has ended, with the exception if it failed.
CallObserver: TypeAlias = Callable[[ServiceCall], AbstractContextManager[None]]


class HttpService:
    """A place on one server, by its URL. An answer of any status is an answer; none is a ``TransportError``."""

    def __init__(
        self,
        url: str,
        transport: Transport,
        fence: WriteFence | None = None,
        *,
        observer: CallObserver | None = None,
        clock: Clock | None = None,
    ) -> None:
        parts = urlsplit(url)
        self.url = url
        self._fence = fence
        self._observer = observer
        self._clock = clock
        self._path, self._query = parts.path, parts.query
        self._transport = transport

    async def request(
        self,
        method: str,
        path: str = "",
        *,
        json: object = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = SERVICE_TIMEOUT,  # noqa: ASYNC109 - measured by the injected clock, retries included
    ) -> Response:
        """Send a request to the URL, or to a path below it, with an optional JSON body; return the whole response.

        It is retried only where that is safe: reads whose connection broke, and what the server asks to repeat by
        ``Retry-After``. Callers repeat writes themselves, with a key that makes it the same write.
        """
        if self._observer is None or self._clock is None:
            return await self._send(method, path, json, headers or {}, timeout)
        call = ServiceCall(method, server_of(self.url), self._clock)
        with self._observer(call):
            response = await self._send(method, path, json, call.headers | dict(headers or {}), timeout)
            call.status = response.status
        return response

    async def _send(self, method: str, path: str, json: object, headers: Mapping[str, str], seconds: float) -> Response:
        sent = {"accept": "application/json"}
        body = b""
        if json is not None:
            body = encode_json(json)
            sent["content-type"] = "application/json"
        sent |= {name.lower(): value for name, value in headers.items()}
        fence = None if method in SAFE_METHODS else self._fence
        request = Request(method, self._target(path), sent, body, fence)
        return await self._transport.request(request, timeout=seconds)

    def through(self, wrap: Callable[[Transport], Transport]) -> "HttpService":
        """Return the same service with its transport wrapped, and without a fence."""
        return HttpService(self.url, wrap(self._transport))

    def _target(self, path: str) -> str:
        place = (self._path.rstrip("/") + path if path else self._path) or "/"
        return f"{place}{'&' if '?' in place else '?'}{self._query}" if self._query else place

    def __repr__(self) -> str:
        # Paths and queries of webhooks are often secrets.
        return f"<HttpService {server_of(self.url)}>"


class HttpServices:
    """Every server that was called. Close it when done."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._transports: dict[Endpoint, Transport] = {}
        self._apps: dict[Endpoint, App] = {}
        self._around: Callable[[App], App] = lambda app: app
        self._observer: CallObserver | None = None

    def observe(self, observer: CallObserver) -> None:
        """Call an observer for each request from now on, in the task that sends it; it may add headers."""
        self._observer = observer

    def at(self, url: str, *, fence: WriteFence | None = None) -> HttpService:
        """Return the service at a URL; nothing is sent yet. Raises ``ConfigError`` if it is not a URL.

        The fence is checked before each attempt of a request that may change something.
        """
        endpoint = server_of(url)
        transport = self._transports.get(endpoint)
        if transport is None:
            transport = self._transports[endpoint] = self._connect(endpoint)
        return HttpService(url, transport, fence, observer=self._observer, clock=self._clock)

    def _connect(self, endpoint: Endpoint) -> Transport:
        app = self._apps.get(endpoint)
        if app is not None:
            return InMemoryTransport(self._around(app), clock=self._clock)
        return HttpTransport(ClusterConfig(server=str(endpoint)), clock=self._clock, limits=_LIMITS)

    def serve(self, url: str, app: App) -> None:
        """Serve a URL with an app of this process, without any network."""
        self._apps[server_of(url)] = app

    def beside(self, clock: Clock, around: Callable[[App], App]) -> "HttpServices":
        """Return the same apps as services with another clock; ``around`` wraps each of them."""
        other = HttpServices(clock)
        other._apps, other._around = self._apps, around
        return other

    async def close(self) -> None:
        """Close every connection."""
        for transport in self._transports.values():
            await transport.close()

    def __repr__(self) -> str:
        return f"<HttpServices {', '.join(str(endpoint) for endpoint in self._transports)}>"


def server_of(url: str) -> Endpoint:
    """Return the server of a URL; raise ``ConfigError`` if it is not a URL."""
    # Messages never quote the URL: it may contain a secret, or be a secret that was mistaken for one.
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise ConfigError("not a URL: it has no scheme, such as https://")
    if " " in url or not (url.isascii() and url.isprintable()):
        raise ConfigError(f"not a URL: the one that begins with {scheme}:// has blanks or letters that are not ASCII")
    return Endpoint.parse(f"{scheme}://{re.split('[/?#]', rest, maxsplit=1)[0]}")
