"""A file from the web, over the same transport that talks to clusters: verified TLS, bounded time, no surprises."""

from urllib.parse import urlsplit

import click

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_OK = 200
_REDIRECTS = range(300, 400)


async def fetch(url: str) -> bytes:
    """Return what a URL answers; a redirect is named, not followed."""
    from steersman.clock import RealClock
    from steersman.protocol.http import Request
    from steersman.transport.config import ClusterConfig
    from steersman.transport.http.transport import HttpTransport

    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise click.UsageError(f"{url}: only https URLs are fetched from other machines")
    transport = HttpTransport(ClusterConfig(server=f"{parts.scheme}://{parts.netloc}"), clock=RealClock())
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        answer = await transport.request(Request("GET", target, {"accept": "*/*"}))
    finally:
        await transport.close()
    if answer.status in _REDIRECTS:
        raise click.ClickException(f"{url} has moved to {answer.header('location')}: pass that URL")
    if answer.status != _OK:
        raise click.ClickException(f"{url} answered with status {answer.status}")
    return answer.body
