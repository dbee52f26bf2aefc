"""Serves a test's cluster on a port of this machine, for kubectl and operators in other processes."""

import base64
import secrets
import tempfile
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

from steersman.objects.codec import encode_json
from steersman.protocol.http import App, Exchange, Request, Response
from steersman.serving.certificates import CertificateAuthority
from steersman.serving.server import Listen, Server
from steersman.serving.tls import server_context
from steersman.testing.cluster import Cluster


@asynccontextmanager
async def served(cluster: Cluster, app: App | None = None) -> AsyncIterator[Path]:
    """Serve a cluster inside the block; yield the path of a kubeconfig for it.

    The cluster's clock must be a real one, because other processes use real time. ``app``, such as a ``CrashSwitch``,
    receives the requests instead of the cluster if given.
    """
    token = secrets.token_urlsafe(24)
    gate = _Gate(app if app is not None else cluster.faults, token)
    # HTTPS, because kubectl sends a token only over TLS.
    authority = CertificateAuthority.create("test", clock=cluster.clock)
    serving = authority.issue_server(["127.0.0.1"])
    listen = Listen(tls=server_context(certificate=serving.certificate, key=serving.key))
    with tempfile.TemporaryDirectory(prefix="steersman-") as directory:
        async with Server(gate, clock=cluster.clock, listen=listen) as server:
            path = Path(directory) / "kubeconfig"
            path.touch(mode=0o600)
            path.write_bytes(kubeconfig(server.url, authority.certificate, token))
            yield path


class _Gate:
    """Admits only requests with the token: the server behind it treats every client as the admin."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        shown = request.headers.get("authorization", "").encode("utf-8", "surrogateescape")
        if not secrets.compare_digest(shown, self._expected):
            exchange.respond(Response(401, [("content-type", "text/plain; charset=utf-8")], b"unknown token\n"))
            return None
        headers = {name: value for name, value in request.headers.items() if name != "authorization"}
        return self._app.handle(Request(request.method, request.target, headers, request.body), exchange)


def kubeconfig(url: str, authority: bytes, token: str) -> bytes:
    """Return the content of a kubeconfig file for a client that has a token; it is a secret."""
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(authority).decode()}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}],
        "current-context": "test",
    }
    return encode_json(document) + b"\n"
