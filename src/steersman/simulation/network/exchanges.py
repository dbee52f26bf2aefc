"""Intercepts responses, and streams of events, on the way from the server to the operator."""

from collections.abc import Callable, Iterator

import msgspec

from steersman.protocol.http import Exchange, Peer, Response, Stream, Upgraded


class InterceptedExchange:
    """An exchange whose response goes to a function, and whose stream is wrapped by another."""

    def __init__(
        self,
        inner: Exchange,
        respond: Callable[[Response], None] | None = None,
        wrap: Callable[[Stream], Stream] | None = None,
    ) -> None:
        self._inner = inner
        self._wrap = wrap
        self.respond = respond or inner.respond
        self.upgrade: Callable[[list[tuple[str, str]]], Upgraded] = inner.upgrade
        self.reset = inner.reset

    @property
    def peer(self) -> Peer:
        """Address and certificate of the client."""
        return self._inner.peer

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin an answer whose end is not known yet."""
        stream = self._inner.stream(status, headers)
        return stream if self._wrap is None else self._wrap(stream)


class Collected:
    """An exchange that keeps a response that comes at once: for requests of the simulation itself."""

    peer = Peer("simulation")

    def __init__(self) -> None:
        self.response: Response | None = None

    def respond(self, response: Response) -> None:
        """Keep the response."""
        self.response = response

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Reject a stream: nothing here watches."""
        raise TypeError(f"an answer at once was expected, not a stream ({status}, {headers})")

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Reject an upgrade."""
        raise TypeError(f"an answer at once was expected, not an upgrade ({headers})")

    def reset(self) -> None:
        """Keep nothing."""


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    resource_version: str = msgspec.field(default="", name="resourceVersion")


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class Frame(msgspec.Struct):
    """One line of a watch, with its bytes."""

    type: str
    object: _Object
    raw: bytes = b""

    @property
    def is_event(self) -> bool:
        """Whether it tells of a change."""
        return self.type in {"ADDED", "MODIFIED", "DELETED"}

    @property
    def path(self) -> str:
        """``namespace/name`` of the object."""
        metadata = self.object.metadata
        return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name

    @property
    def version(self) -> str:
        """The resource version of the object."""
        return self.object.metadata.resource_version


_decode = msgspec.json.Decoder(Frame).decode


def frames_of(chunk: bytes) -> Iterator[Frame]:
    """Yield the lines of a chunk; the server never cuts a line."""
    for line in chunk.splitlines(keepends=True):
        frame = _decode(line)
        frame.raw = line
        yield frame


def error_frame(code: int, reason: str, message: str) -> bytes:
    """Return the event that ends a watch with a failure."""
    return msgspec.json.encode({"type": "ERROR", "object": _status(code, reason, message)}) + b"\n"


def failure(code: int, reason: str, message: str, *, retry_after: int = 0) -> Response:
    """Return a response that is a failure."""
    headers = [("content-type", "application/json")]
    if retry_after:
        headers.append(("retry-after", str(retry_after)))
    return Response(code, headers, msgspec.json.encode(_status(code, reason, message)))


def _status(code: int, reason: str, message: str) -> dict[str, object]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
