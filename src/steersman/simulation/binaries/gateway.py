"""`Gateway`: the port where a program reaches its cluster. Each of its processes has a token, and a connection.

A process that was killed may have sent requests that arrive after its end. Its token leads to its own connection, which
lets nothing pass any more, so they cannot be mistaken for those of its successor.
"""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.history import Event
from steersman.clock import Clock
from steersman.protocol.http import SAFE_METHODS, App, Exchange, Peer, Request, Response, Stream, Upgraded
from steersman.serving.certificates import CertificateAuthority
from steersman.serving.server import Listen, Server
from steersman.serving.tls import server_context
from steersman.simulation.binaries.effects import changes_something
from steersman.simulation.binaries.elections import is_election_frame, is_election_record, is_election_request
from steersman.simulation.binaries.old_versions import OldVersions
from steersman.simulation.binaries.step_matching import Step, StepMatcher
from steersman.simulation.binaries.traffic import Traffic
from steersman.simulation.faults.plans import Fault
from steersman.simulation.network.connection import Connection, Network
from steersman.simulation.network.exchanges import Frame
from steersman.testing.crashes.end_state import LEFT_OUT
from steersman.testing.served_cluster import kubeconfig

#: Resources that are written all the time without any reason in the scenario.
_ENDLESS = LEFT_OUT | {"nodes"}


@dataclass(slots=True)
class CommandNetwork(Network):
    """The connections of all processes of one run."""

    #: Where the faults of the plan strike.
    matcher: StepMatcher | None = None

    def fault_at(self, step: Step) -> Fault | None:
        """Return the fault of the plan for this step, which is recognised by its content."""
        return self.matcher.fault_at(step) if self.matcher is not None else None


class CommandConnection(Connection):
    """The connection of one process. Only lists that accept any version can come from a server that lags behind."""

    def note_event(self, collection: str, frame: Frame) -> Fault | None:
        """Record an event that arrives, unless it belongs to an election; return the fault that strikes at it."""
        return None if is_election_frame(collection, frame) else super().note_event(collection, frame)

    def _as_viewed(self, request: Request, path: str) -> Request:
        return super()._as_viewed(request, path) if accepts_any_version(request) else request


def accepts_any_version(request: Request) -> bool:
    """Return whether a request is a list with ``resourceVersion=0``, which a server may answer with an old state."""
    query = dict(parse_qsl(request.target.partition("?")[2]))
    return request.method == "GET" and "watch" not in query and query.get("resourceVersion") == "0"


class Gateway:
    """Leads each request to the connection of its process, and takes note of it; an `App`."""

    def __init__(self, server: ApiServer, clock: Clock, traffic: Traffic) -> None:
        self._server = server
        self._clock = clock
        self._traffic = traffic
        self._connections: dict[bytes, Connection] = {}
        #: Collections that were listed in any version.
        self.listed_in_any_version: set[str] = set()
        self._url = ""
        self._authority = b""
        server.objects.observers.append(self._observe)

    @asynccontextmanager
    async def serving(self, old_versions: Mapping[str, str]) -> AsyncIterator[None]:
        """Listen inside the block, and answer requests to some old versions too."""
        # HTTPS, because clients send a token only over TLS.
        authority = CertificateAuthority.create("simulation", clock=self._clock)
        pair = authority.issue_server(["127.0.0.1"])
        listen = Listen(tls=server_context(certificate=pair.certificate, key=pair.key))
        app: App = OldVersions(self, old_versions) if old_versions else self
        async with Server(app, clock=self._clock, listen=listen) as server:
            self._url, self._authority = server.url, authority.certificate
            yield

    def admit(self, connection: Connection, file: Path) -> None:
        """Write the kubeconfig of a new process, whose requests go through a connection of their own."""
        token = secrets.token_urlsafe(24)
        self._connections[f"Bearer {token}".encode()] = connection
        file.touch(mode=0o600)
        file.write_bytes(kubeconfig(self._url, self._authority, token))

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a request on to the connection of its process."""
        shown = request.headers.get("authorization", "").encode("utf-8", "surrogateescape")
        connection = self._connections.get(shown)
        if connection is None:
            exchange.respond(Response(401, [("content-type", "text/plain; charset=utf-8")], b"unknown token\n"))
            return None
        headers = {name: value for name, value in request.headers.items() if name != "authorization"}
        request = Request(request.method, request.target, headers, request.body)
        if connection.is_cut:
            return None
        if is_election_request(self._server, request):
            return self._server.handle(request, exchange)
        noted = self._noted(request, exchange)
        if request.method not in SAFE_METHODS and not changes_something(self._server, request):
            return self._server.handle(request, noted)
        return connection.handle(request, noted)

    def _noted(self, request: Request, exchange: Exchange) -> Exchange:
        path, _, query = request.target.partition("?")
        parts = path.split("/")[-2:]
        if not {"leases", "events"}.isdisjoint(parts):
            return exchange
        if "watch=" in query:
            self._traffic.note(self._clock.monotonic(), f"WATCH {path}")
            return exchange
        if accepts_any_version(request):
            self.listed_in_any_version.add(path)
        self._traffic.begin(self._clock.monotonic(), f"{request.method} {path}")
        return _NotedExchange(exchange, self._traffic.end)

    def _observe(self, event: Event) -> None:
        if event.resource not in _ENDLESS and not is_election_record(event.resource, event.record):
            self._traffic.change(self._clock.monotonic(), f"{event.type} {event.resource} {event.record.path}")


class _NotedExchange:
    """An exchange that calls back when it is answered, in whatever way."""

    def __init__(self, inner: Exchange, on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    @property
    def peer(self) -> Peer:
        """The client of the request."""
        return self._inner.peer

    def respond(self, response: Response) -> None:
        """Respond with a complete body."""
        self._on_end()
        self._inner.respond(response)

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin a response whose end is not known yet."""
        self._on_end()
        return self._inner.stream(status, headers)

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Switch protocols and hand over the raw connection."""
        self._on_end()
        return self._inner.upgrade(headers)

    def reset(self) -> None:
        """Break the connection without a response."""
        self._on_end()
        self._inner.reset()
