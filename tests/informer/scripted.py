"""A scripted list/watch server, for faults that a healthy server never shows."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from steersman.protocol.http import Exchange, Request, Response, Stream
from tests.informer.conftest import wire

JSON = [("content-type", "application/json")]


def status(code: int, reason: str, message: str = "no") -> bytes:
    """Return a failure as servers encode it."""
    return wire({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message})


@dataclass
class ScriptedServer:
    """Holds objects, answers lists and watches of them, and fails on demand."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int = 100
    #: Answers for the next requests, before serving normally: a status and a body, or "reset".
    failures: list[tuple[int, bytes] | str] = field(default_factory=list)
    knows_watch_list: bool = True
    log: list[str] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    #: Past events with their versions: a watch replays those after its own version.
    history: list[tuple[int, bytes]] = field(default_factory=list)

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Serve one request."""
        query = {key: values[0] for key, values in parse_qs(urlsplit(request.target).query).items()}
        kind = "watchlist" if "sendInitialEvents" in query else "watch" if "watch" in query else "list"
        self.log.append(f"{kind}@{query.get('resourceVersion', '')}")
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, str):
                exchange.reset()
            else:
                exchange.respond(Response(failure[0], JSON, failure[1]))
        elif kind == "list":
            exchange.respond(Response(200, JSON, self._list()))
        elif kind == "watchlist" and not self.knows_watch_list:
            exchange.respond(Response(422, JSON, status(422, "Invalid", "sendInitialEvents is forbidden")))
        else:
            self._stream(exchange, None if kind == "watchlist" else int(query.get("resourceVersion", "0")))

    def _list(self) -> bytes:
        return wire({"metadata": {"resourceVersion": str(self.version)}, "items": list(self.objects.values())})

    def _stream(self, exchange: Exchange, since: int | None) -> None:
        stream = exchange.stream(200, JSON)
        self.streams.append(stream)
        stream.on_close(lambda: self.streams.remove(stream) if stream in self.streams else None)
        for version, frame in self.history:
            if since is not None and version > since:
                stream.write(frame)
        if since is None:
            for shown in self.objects.values():
                stream.write(self.frame("ADDED", shown))
            stream.write(self.bookmark(initial=True))

    @staticmethod
    def frame(event: str, shown: dict[str, Any]) -> bytes:
        """Encode one event."""
        return wire({"type": event, "object": shown}) + b"\n"

    def bookmark(self, *, initial: bool = False) -> bytes:
        """Encode a bookmark of the current version."""
        annotations = {"k8s.io/initial-events-end": "true"} if initial else {}
        metadata = {"resourceVersion": str(self.version), "annotations": annotations}
        return self.frame("BOOKMARK", {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": metadata})

    def send(self, data: bytes) -> None:
        """Send bytes to every open watch."""
        for stream in list(self.streams):
            stream.write(data)

    def put(self, name: str, *, tell: bool = True, **more: Any) -> None:
        """Create or change an object."""
        self.version += 1
        metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(self.version)}
        spec = more.pop("spec", {"n": self.version})
        event = "MODIFIED" if name in self.objects else "ADDED"
        self.objects[name] = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {**metadata, **more},
            "spec": spec,
        }
        self._notify(self.frame(event, self.objects[name]), tell=tell)

    def delete(self, name: str, *, tell: bool = True) -> None:
        """Delete an object."""
        self.version += 1
        gone = self.objects.pop(name)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._notify(self.frame("DELETED", gone), tell=tell)

    def _notify(self, frame: bytes, *, tell: bool) -> None:
        if tell:
            self.history.append((self.version, frame))
            self.send(frame)

    def close(self) -> None:
        """End every watch cleanly."""
        for stream in list(self.streams):
            stream.close()

    def abort(self) -> None:
        """Break every watch."""
        for stream in list(self.streams):
            stream.abort()
