"""`PlanningTransport`: the cluster as a planned operator reaches it. It decides which part answers a request.

- Reads and watches of objects are answered by the shadow, after it has loaded them from the live cluster.
- Discovery, versions and logs of pods are read from the live cluster.
- Writes go to `PlannedWrites`. Events are answered and dropped.
- Commands in pods, forwarded ports, writes through a proxy, writes to aggregated APIs and tokens raise ``NotPlanned``:
  a plan cannot know what they do.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from steersman.apiserver.messages.info import RequestInfo, parse_resource_path, split_target
from steersman.apiserver.status import no_such_resource
from steersman.errors import NotPlanned
from steersman.objects.codec import decode_json, encode_json
from steersman.planning.changes import Place
from steersman.planning.read_only import as_dry_run
from steersman.planning.shadow import Shadow
from steersman.planning.writes import PlannedWrites
from steersman.protocol.http import SAFE_METHODS, Request, Response, Upgraded
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT, Transport
from steersman.transport.stream import ResponseStream

_OK, _NOT_FOUND = 200, 404
_JSON: Final = [("content-type", "application/json")]
_EVENT_GROUPS: Final = frozenset({"", "events.k8s.io"})
#: Kinds whose creation asks a question and stores nothing.
_REVIEW_GROUPS: Final = frozenset({"authorization.k8s.io", "authentication.k8s.io"})
#: Subresources that are read from the live cluster.
_LIVE_PARTS: Final = frozenset({"log", "proxy"})


class PlanningTransport:
    """Answer the requests of a planned operator."""

    def __init__(self, live: Transport, shadow: Shadow, writes: PlannedWrites) -> None:
        self._live = live
        self._shadow = shadow
        self._writes = writes

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Answer a request from the shadow, or by a read from the live cluster."""
        path, query = split_target(request.target)
        info = parse_resource_path(path)
        is_read = request.method in SAFE_METHODS
        if not is_read and info is not None and _is_event(info):
            return Response(201, _JSON, request.body)
        if not is_read and (info is None or info.subresource in _LIVE_PARTS):
            raise NotPlanned(f"{request.method} {path} is not part of a plan: what it does cannot be known")
        served = None if info is None or info.subresource in _LIVE_PARTS else await self._shadow.served(info)
        if info is None or served is None:
            return await self._unknown(request, info, timeout=timeout)
        if served.builtin and info.group in _REVIEW_GROUPS:
            if not is_read and self._writes.is_offline:
                raise NotPlanned(f"{request.method} {path} cannot be judged without the cluster")
            return await self._live.request(request if is_read else as_dry_run(request), timeout=timeout)
        if not is_read:
            _check_is_planned(info)
            self._shadow.on_object(Place(served.stored_as, info.namespace, info.name), request.body)
            return await self._writes.send(request, info, served, query)
        refusal = await self._shadow.load(info, served, query)
        return refusal if refusal is not None else await self._shadow.transport.request(request, timeout=timeout)

    async def _unknown(self, request: Request, info: RequestInfo | None, *, timeout: float | None) -> Response:  # noqa: ASYNC109 - handed on
        """Answer a request about what the shadow does not serve: a kind that does not exist, or an aggregated API.

        Another API server may stand behind an aggregated API, which need not know dry runs.
        """
        if info is None or request.method in SAFE_METHODS:
            return await self._live.request(request, timeout=timeout)
        place = f"/apis/{info.group}/{info.version}" if info.group else f"/api/{info.version}"
        listed = await self._live.request(Request("GET", place, {"accept": "application/json"}), timeout=timeout)
        if listed.status == _NOT_FOUND:
            return listed
        served = decode_json(listed.body).get("resources") or () if listed.status == _OK else None
        if served is None or any(one["name"] == info.resource for one in served):
            raise NotPlanned(
                f"{info.resource}.{info.group} is not served by this API server itself: it cannot be planned"
            )
        return Response(_NOT_FOUND, _JSON, encode_json(no_such_resource().document()))

    @asynccontextmanager
    async def stream(self, request: Request, *, idle: float | None = DEFAULT_IDLE) -> AsyncIterator[ResponseStream]:
        """Open a watch of the shadow, or a log of the live cluster."""
        path, query = split_target(request.target)
        info = parse_resource_path(path)
        served = None if info is None or info.subresource in _LIVE_PARTS else await self._shadow.served(info)
        if info is None or served is None:
            async with self._live.stream(request, idle=idle) as live:
                yield live
            return
        refusal = await self._shadow.load(info, served, query)
        if refusal is not None:
            yield _as_stream(refusal)
            return
        async with self._shadow.transport.stream(request, idle=None) as shadow:
            yield shadow

    def upgrade(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Upgraded | Response]:
        """Raise ``NotPlanned``: what a command or a connection does inside a pod cannot be known."""
        raise NotPlanned(f"{request.target.partition('?')[0]} ({protocol}) is not part of a plan")

    async def ping(self) -> None:
        """Check that the live cluster answers."""
        await self._live.ping()

    async def close(self) -> None:
        """Close the shadow; the live transport belongs to the caller."""
        await self._shadow.transport.close()

    def __repr__(self) -> str:
        return f"<PlanningTransport {self._live!r}>"


def _is_event(info: RequestInfo) -> bool:
    return info.resource == "events" and info.group in _EVENT_GROUPS


def _check_is_planned(info: RequestInfo) -> None:
    if info.resource == "serviceaccounts" and info.subresource == "token":
        raise NotPlanned(f"a token of ServiceAccount {info.namespace}/{info.name} is not issued in a plan")


def _as_stream(response: Response) -> ResponseStream:
    stream = ResponseStream(response.status, response.headers)
    stream.feed(response.body)
    stream.finish()
    return stream
