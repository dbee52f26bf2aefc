"""`AuditLog`: one line of JSON for each request, as Kubernetes writes audit events: who did what, and how it ended.

Bodies of writes are in it, but never those that carry secrets; credentials never are.
"""

import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from http import HTTPStatus
from pathlib import Path

from steersman.apiserver.messages.bodies import read_body
from steersman.apiserver.messages.info import RequestInfo, parse_resource_path, split_target
from steersman.apiserver.messages.negotiation import body_media
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.status import Refusal
from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.objects.codec import encode_json
from steersman.protocol.confidential import is_confidential
from steersman.protocol.http import App, Exchange, Peer, Request, Response, Stream, Upgraded
from steersman.randomness import Randomness

_SWITCHING = 101
_BROKEN = 0
#: Failures that only a client can get whose request was authorized and read; 400 is not one of them.
_AFTER_READING = (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "HEAD": "get"}
#: Larger bodies are not repeated in the log.
_LARGEST_BODY = 256 * 1024


class AuditFile:
    """A file that lines are added to; only its owner can read it."""

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot write {path}: {error.strerror}") from None

    def write(self, line: bytes) -> None:
        """Add a line: in one call, so that lines of several writers never mix."""
        os.write(self._descriptor, line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class AuditLog:
    """Wraps an app and logs each request with its response."""

    def __init__(
        self,
        app: App,
        write: Callable[[bytes], None],
        *,
        user_of: Callable[[Request, Peer], User | None],
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self._app = app
        self._write = write
        self._user_of = user_of
        self._clock = clock
        self._randomness = randomness

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass the request to the app; see ``App``."""
        received = _moment(self._clock.now())
        user = self._user_of(request, exchange.peer)

        def answered(status: int) -> None:
            event = _event(request, exchange.peer, user, status)
            event["auditID"] = self._randomness.uid()
            event["responseStatus"] = {"metadata": {}, "code": status}
            event["requestReceivedTimestamp"] = received
            event["stageTimestamp"] = _moment(self._clock.now())
            self._write(encode_json(event) + b"\n")

        return self._app.handle(request, _Observed(exchange, answered))


class _Observed:
    """An exchange that tells how it was answered."""

    __slots__ = ("_answered", "_exchange")

    def __init__(self, exchange: Exchange, answered: Callable[[int], None]) -> None:
        self._exchange = exchange
        self._answered = answered

    @property
    def peer(self) -> Peer:
        """Address and certificate of the client."""
        return self._exchange.peer

    def respond(self, response: Response) -> None:
        """Answer at once."""
        self._answered(response.status)
        self._exchange.respond(response)

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin an answer."""
        self._answered(status)
        return self._exchange.stream(status, headers)

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Switch protocols."""
        self._answered(_SWITCHING)
        return self._exchange.upgrade(headers)

    def reset(self) -> None:
        """Break the connection."""
        self._answered(_BROKEN)
        self._exchange.reset()


def _event(request: Request, peer: Peer, user: User | None, status: int) -> JsonObject:
    info = _info(request)
    body = _body(request, info) if _is_read(status) else None
    event: JsonObject = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata" if body is None else "Request",
        "stage": "ResponseComplete",
        "requestURI": request.target,
        "verb": _verb(request, info),
        "user": {} if user is None else {"username": user.name, "groups": list(user.groups)},
        "sourceIPs": [_host(peer.address)],
        "userAgent": request.headers.get("user-agent", ""),
    }
    if info is not None:
        event["objectRef"] = _reference(info)
    if body is not None:
        event["requestObject"] = body
    return event


def _info(request: Request) -> RequestInfo | None:
    try:
        return parse_resource_path(split_target(request.target)[0])
    except Refusal:
        return None


def _verb(request: Request, info: RequestInfo | None) -> str:
    verb = _VERBS.get(request.method, request.method.lower())
    if info is None or info.name:
        return verb
    if verb == "get":
        return "watch" if info.watch or "watch=" in request.target else "list"
    return "deletecollection" if verb == "delete" else verb


def _reference(info: RequestInfo) -> JsonObject:
    named = {
        "resource": info.resource,
        "namespace": info.namespace,
        "name": info.name,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "subresource": info.subresource,
    }
    return {key: value for key, value in named.items() if value}


def _is_read(status: int) -> bool:
    """Return whether the app read the body. A body is never read here for a client that the app turned away."""
    return _SWITCHING < status < HTTPStatus.BAD_REQUEST or status in _AFTER_READING


def _body(request: Request, info: RequestInfo | None) -> object:
    """Return the body of a write as a document, unless it may carry secrets or cannot be read."""
    if info is None or not request.body or len(request.body) > _LARGEST_BODY:
        return None
    if is_confidential(request.target):
        return None
    if request.method == "PATCH":
        return _patch(request.body)
    try:
        return read_body(request.body, body_media(request.headers.get("content-type", "")), "").document
    except Refusal:
        return None


def _patch(body: bytes) -> object:
    from steersman.golang.yaml_reader import YamlError, read_yaml  # noqa: PLC0415 - only an audited apply needs it

    try:
        # An apply may be YAML, and JSON is YAML.
        return read_yaml(body).value
    except YamlError:
        return None


def _host(address: str) -> str:
    """Return an address without its port."""
    host, colon, port = address.rpartition(":")
    return host.strip("[]") if colon and port.isdigit() else address


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}Z"
