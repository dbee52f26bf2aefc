"""The address of a webhook. Only webhooks on this machine are called, unless `WebhookOptions.remote` allows others."""

import base64
import ipaddress
import posixpath
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from steersman.json_types import JsonObject

_HTTPS = 443


#: The W3C trace context of the request whose webhooks are called; a caller passes it on as ``traceparent``.
trace_context: ContextVar[str] = ContextVar("trace_context", default="")


class CallFailed(Exception):  # noqa: N818 - the outcome of a call
    """A webhook could not be called; ``str()`` is the reason."""


@dataclass(frozen=True, slots=True)
class Target:
    """A webhook to call: its URL, its address, and the name and authority of its certificate."""

    url: str
    #: Host and port to connect to; the URL may name a service instead.
    address: tuple[str, int]
    #: The name that its certificate must be for.
    server_name: str
    #: The certificates that are trusted, as PEM; those of the system when there are none.
    authority: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a webhook."""

    status: int
    body: bytes = field(repr=False)
    media: str = "application/json"


#: Calls a webhook: where, with what body, and how many seconds it may take. Raises `CallFailed`.
Caller = Callable[[Target, bytes, float], Awaitable[Reply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """How the server calls webhooks."""

    caller: Caller
    #: ``namespace/name`` of a Service, perhaps with ``:port`` → ``host:port`` at which it is on this machine.
    services: Mapping[str, str] = field(default_factory=dict)
    #: Whether webhooks on other machines are called too.
    remote: bool = False


def target_of(config: JsonObject, options: WebhookOptions) -> Target:
    """Return the address in a client configuration; raise `CallFailed` if it must not or cannot be called."""
    authority = base64.b64decode(config.get("caBundle") or "")
    service = config.get("service")
    if service is not None:
        return _service_target(service, authority, options)
    url = config.get("url") or ""
    parts = urlsplit(url)
    host = parts.hostname or ""
    target = Target(url_of(config), (host, parts.port or _HTTPS), host, authority)
    if not options.remote and not is_loopback(host):
        raise CallFailed(f'"{host}" is not this machine, and the embedded API server calls no other')
    return target


def _service_target(service: JsonObject, authority: bytes, options: WebhookOptions) -> Target:
    namespace, name = service.get("namespace", ""), service.get("name", "")
    port = service.get("port") or _HTTPS
    known = options.services.get(f"{namespace}/{name}:{port}") or options.services.get(f"{namespace}/{name}")
    if known is None:
        raise CallFailed(f'service "{name}" not found')
    host, _, number = known.rpartition(":")
    if not options.remote and not is_loopback(host.strip("[]")):
        raise CallFailed(f'"{host}" is not this machine, and the embedded API server calls no other')
    return Target(url_of({"service": service}), (host.strip("[]"), int(number)), f"{name}.{namespace}.svc", authority)


def url_of(config: JsonObject) -> str:
    """Return the URL under which a webhook is called, as messages show it."""
    service = config.get("service")
    if service is None:
        parts = urlsplit(str(config.get("url") or ""))
        return f"{parts.scheme}://{parts.netloc}{_clean(parts.path)}"
    place = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port') or _HTTPS}"
    return f"https://{place}{_clean(service.get('path') or '')}"


def _clean(path: str) -> str:
    """Return a path as Kubernetes' client calls it: without empty segments, dots and a slash at its end."""
    return posixpath.normpath(f"/{path.lstrip('/')}")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine. Names are not resolved: the result could change before the call."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
