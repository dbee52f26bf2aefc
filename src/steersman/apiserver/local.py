"""The embedded API server on a port of this machine: HTTPS, with an authority, a token and an admin made at each start.

It is for development and tests. Nothing is written to a disk here; who needs a kubeconfig writes the one it gives.
"""

import base64
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from steersman.apiserver.authentication import ADMIN
from steersman.apiserver.server import ApiServer
from steersman.clock import Clock, RealClock
from steersman.objects.codec import encode_json
from steersman.protocol.http import App
from steersman.randomness import Randomness
from steersman.serving.certificates import CertificateAuthority, KeyPair
from steersman.serving.server import Listen, Server
from steersman.serving.tls import server_context

#: The names under which clients on this machine, and pods by their own habit, call the server.
_NAMES = ("127.0.0.1", "::1", "localhost", "kubernetes.default.svc")
_CONTEXT = "steersman"


@dataclass(frozen=True, slots=True)
class Access:
    """How the admin reaches the server."""

    url: str
    authority: bytes
    token: str = field(repr=False)
    certificate: KeyPair

    def kubeconfig(self) -> bytes:
        """Give everything that kubectl and other clients need, as a file's content; it is a secret."""
        cluster = {"server": self.url, "certificate-authority-data": _text(self.authority)}
        user = {
            "token": self.token,
            "client-certificate-data": _text(self.certificate.certificate),
            "client-key-data": _text(self.certificate.key),
        }
        context = {"cluster": _CONTEXT, "user": "admin", "namespace": "default"}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": _CONTEXT, "cluster": cluster}],
            "users": [{"name": "admin", "user": user}],
            "contexts": [{"name": _CONTEXT, "context": context}],
            "current-context": _CONTEXT,
            "preferences": {},
        }
        return encode_json(document) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """Where to listen, and by which token the admin is known; without one it is made up."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = None
    #: Stands between the network and the server, and sees every request.
    before: Callable[[App], App] | None = None


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A running server and the way to it."""

    api: ApiServer
    access: Access


@asynccontextmanager
async def local_server(
    options: LocalOptions | None = None, *, clock: Clock | None = None, randomness: Randomness | None = None
) -> AsyncIterator[LocalServer]:
    """Serve a fresh API server inside the block; leaving it ends watches and lets answers finish."""
    options = options or LocalOptions()
    clock = clock or RealClock()
    token = options.token or secrets.token_urlsafe(24)
    api = ApiServer(clock=clock, randomness=randomness, tokens={token: ADMIN})
    authority = CertificateAuthority.create("steersman", clock=clock)
    names = dict.fromkeys((options.host, *_NAMES))
    serving = authority.issue_server([name for name in names if name not in ("0.0.0.0", "::")])  # noqa: S104 - left out
    tls = server_context(certificate=serving.certificate, key=serving.key, client_ca=authority.certificate)
    app = options.before(api) if options.before is not None else api
    listen = Listen(host=options.host, port=options.port, tls=tls)
    async with Server(app, clock=clock, listen=listen) as server:
        certificate = authority.issue_client("admin", ["system:masters"])
        yield LocalServer(api, Access(server.url, authority.certificate, token, certificate))


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
