"""`OldVersions`: serves a version that Kubernetes has removed as another name of the current one.

Operators of some years ago ask for versions such as ``policy/v1beta1``, which no server has any more, and stop there.
Where only the name changed, the requests can be answered by the current version. Discovery lists the old name too.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec

from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.protocol.http import App, Exchange, Request, Response, Stream
from steersman.simulation.network.exchanges import InterceptedExchange


def parse_old_versions(texts: Iterable[str]) -> dict[str, str]:
    """Parse ``policy/v1beta1=policy/v1``: the old group and version, and the one that answers."""
    found = {}
    for text in texts:
        old, _, new = text.partition("=")
        if old.count("/") != 1 or old.partition("/")[0] != new.partition("/")[0] or old == new:
            raise ConfigError(f"{text!r} is not OLD=NEW with two versions of one group: policy/v1beta1=policy/v1")
        found[old] = new
    return found


class OldVersions:
    """Translates requests and answers of old versions; an `App`."""

    def __init__(self, inner: App, versions: Mapping[str, str]) -> None:
        self._inner = inner
        self._versions = versions

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer a request, which may be to an old version, or to the list of versions."""
        path = request.target.partition("?")[0]
        if path == "/apis" or path.removeprefix("/apis/") in {old.partition("/")[0] for old in self._versions}:
            return self._inner.handle(request, _changed(exchange, self._with_old_versions))
        for old, new in self._versions.items():
            if f"{path}/".startswith(f"/apis/{old}/"):
                return self._translated(request, exchange, old, new)
        return self._inner.handle(request, exchange)

    def _translated(self, request: Request, exchange: Exchange, old: str, new: str) -> Awaitable[None] | None:
        target = request.target.replace(f"/apis/{old}", f"/apis/{new}", 1)
        body = request.body.replace(f'"{old}"'.encode(), f'"{new}"'.encode())
        # Answers in other forms than JSON could not be translated; bodies in protobuf name no version.
        headers = {**request.headers, "accept": "application/json"}

        def translate(data: bytes) -> bytes:
            for key in ("apiVersion", "groupVersion"):
                data = data.replace(f'"{key}":"{new}"'.encode(), f'"{key}":"{old}"'.encode())
            return data

        return self._inner.handle(Request(request.method, target, headers, body), _changed(exchange, translate))

    def _with_old_versions(self, data: bytes) -> bytes:
        document = msgspec.json.decode(data)
        for group in document.get("groups", [document]):
            known = group.get("versions", [])
            known += [
                _version(old) for old, new in self._versions.items() if any(one["groupVersion"] == new for one in known)
            ]
        return msgspec.json.encode(document)


def _version(group_version: str) -> JsonObject:
    return {"groupVersion": group_version, "version": group_version.partition("/")[2]}


def _changed(exchange: Exchange, change: Callable[[bytes], bytes]) -> InterceptedExchange:
    def respond(response: Response) -> None:
        is_json = response.header("content-type").partition(";")[0] == "application/json"
        body = change(response.body) if is_json and response.body else response.body
        exchange.respond(Response(response.status, response.headers, body))

    return InterceptedExchange(exchange, respond, lambda stream: _ChangedStream(stream, change))


class _ChangedStream:
    """A stream whose chunks are translated."""

    def __init__(self, inner: Stream, change: Callable[[bytes], bytes]) -> None:
        self._inner = inner
        self._change = change
        self.close = inner.close
        self.abort = inner.abort
        self.on_writable = inner.on_writable
        self.on_close = inner.on_close

    def write(self, chunk: bytes) -> None:
        """Send a chunk; the server never cuts a line."""
        self._inner.write(self._change(chunk))

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""
        return self._inner.is_open

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up."""
        return self._inner.is_writable
