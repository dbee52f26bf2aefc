"""The embedded API server on a port of this machine: HTTPS, with its own certificate authority, token and admin.

It is for development and tests. Nothing is written to a disk unless a directory for data is given; who needs a
kubeconfig writes the one it gives.
"""

import base64
import secrets
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from steersman.apiserver.access.authentication import ADMIN
from steersman.apiserver.background.controllers import ControllerOptions
from steersman.apiserver.http.audit import AuditFile, AuditLog
from steersman.apiserver.journal.directory import Identity
from steersman.apiserver.journal.durable_app import DurableApp
from steersman.apiserver.journal.kept_cluster import KeptCluster, kept_cluster
from steersman.apiserver.server import ApiServer
from steersman.apiserver.webhook_calls.targets import WebhookOptions
from steersman.clock import Clock, RealClock
from steersman.concurrency import background
from steersman.objects.codec import encode_json
from steersman.protocol.http import App
from steersman.randomness import Randomness
from steersman.serving.certificates import CertificateAuthority, KeyPair
from steersman.serving.server import Listen, Server
from steersman.serving.tls import server_context

#: Names of the server for clients on this machine, and for pods.
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
        """Return the content of a kubeconfig file for kubectl and other clients; it is a secret."""
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
    """Options of a local server; without a token one is generated."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = field(default=None, repr=False)
    #: Whether the controllers of a kube-controller-manager run that maintain the objects of the API itself.
    controllers: bool = True
    #: Directory of the cluster's data; without one all objects are lost at the end.
    data: Path | None = None
    #: Audit log: one line of JSON for each request.
    audit: Path | None = None
    #: How webhooks are called; without it they are not.
    webhooks: WebhookOptions | None = None
    #: Wraps the server, and gets every request first.
    before: Callable[[App], App] | None = None


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A running server, and how to reach it."""

    api: ApiServer
    access: Access


@asynccontextmanager
async def local_server(
    options: LocalOptions | None = None, *, clock: Clock | None = None, randomness: Randomness | None = None
) -> AsyncIterator[LocalServer]:
    """Serve an API server inside the block; it is empty unless ``data`` has a cluster.

    Leaving the block ends watches and lets answers finish. Raises ConfigError, also out of the block, when what is
    to be kept cannot be read or written.
    """
    options = options or LocalOptions()
    clock = clock or RealClock()
    randomness = randomness or Randomness()
    async with AsyncExitStack() as stack:
        kept = None if options.data is None else stack.enter_context(kept_cluster(options.data, clock))
        identity = _identity(options, kept, clock)
        authority = CertificateAuthority.load(KeyPair(identity.certificate, identity.key), clock=clock)
        api = ApiServer(
            clock=clock,
            randomness=randomness,
            tokens={identity.token: ADMIN},
            objects=None if kept is None else kept.objects,
            controllers=ControllerOptions(root_certificate=authority.certificate) if options.controllers else None,
            webhooks=options.webhooks,
            accounts_key=None if kept is None else identity.accounts_key,
        )
        app: App = api
        if kept is not None:
            app = DurableApp(api, kept.journal)
            await stack.enter_async_context(background(kept.journal.wait_failed(), name="journal"))
        if options.audit is not None:
            file = AuditFile(options.audit)
            stack.callback(file.close)
            app = AuditLog(app, file.write, user_of=api.user_of, clock=clock, randomness=randomness)
        if options.before is not None:
            app = options.before(app)
        listen = Listen(host=options.host, port=options.port, tls=_tls(options.host, authority))
        server = await stack.enter_async_context(Server(app, clock=clock, listen=listen))
        api.publish_address(options.host, server.port)
        certificate = authority.issue_client("admin", ["system:masters"])
        yield LocalServer(api, Access(server.url, authority.certificate, identity.token, certificate))


def _identity(options: LocalOptions, kept: KeptCluster | None, clock: Clock) -> Identity:
    """Return the keys and the token of the server: those of the last start if they are stored, else new ones."""
    known = None if kept is None else kept.directory.identity()
    if known is None:
        pair = CertificateAuthority.create("steersman", clock=clock).key_pair()
        accounts = CertificateAuthority.create("service accounts", clock=clock).key_pair()
        known = Identity(pair.certificate, pair.key, accounts.key, secrets.token_urlsafe(24))
    if options.token:
        known = replace(known, token=options.token)
    if kept is not None:
        kept.directory.keep_identity(known)
    return known


def _tls(host: str, authority: CertificateAuthority) -> ssl.SSLContext:
    names = [name for name in dict.fromkeys((host, *_NAMES)) if name not in ("0.0.0.0", "::")]  # noqa: S104 - left out
    serving = authority.issue_server(names)
    return server_context(certificate=serving.certificate, key=serving.key, client_ca=authority.certificate)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
