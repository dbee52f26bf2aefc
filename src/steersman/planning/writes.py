"""`PlannedWrites`: who judges a write of a plan, and what the shadow stores of it.

The live server judges the first write to an object, as a dry run; its answer is stored as it is. It cannot judge a
write that depends on an earlier write of the same plan, because it has not stored that one: the embedded server judges
it by its own rules. A first write to a *part* of a changed object, such as its status, is still sent as a dry run,
because permissions and admission do not depend on the other parts; but then only a refusal counts.

A dry run of the live server knows its own resource versions only, so a precondition on a version of the shadow is
translated. A precondition that does not fit the shadow is a conflict, and not worth a request.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from steersman.apiserver.messages.info import Query, RequestInfo
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.errors import DecodeError
from steersman.history.differences import without_bookkeeping
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.planning.cascade import Cascade
from steersman.planning.changes import Place
from steersman.planning.read_only import as_dry_run
from steersman.planning.shadow import Shadow, metadata_of
from steersman.protocol.http import Request, Response
from steersman.transport.base import Transport

_FAILURE: Final = 400
_FORBIDDEN, _CONFLICT = 403, 409
_PASSED_ON: Final = frozenset({"content-type", "warning"})
#: Error message of a server about a webhook that does not support dry runs.
_NO_DRY_RUN: Final = re.compile(r'webhook "([^"]*)" does not support dry run')
_VERSION_POINTER: Final = "/metadata/resourceVersion"


class Write(NamedTuple):
    """One write, and what it is about."""

    request: Request
    info: RequestInfo
    served: ServedResource
    query: Query
    #: The object; without a name if many are deleted, or if the server chooses the name.
    place: Place
    #: The decoded body; ``None`` if there is none, or if it is not JSON.
    body: Any


class PlannedWrites:
    """Carry out the writes of a plan in the shadow, after the live server has judged them."""

    def __init__(self, live: Transport | None, shadow: Shadow) -> None:
        #: Judges writes; ``None`` for a plan by the rules of the embedded server alone.
        self._live = live
        self._shadow = shadow
        self._cascade = Cascade(shadow)
        #: Parts of objects that were written in this plan; ``""`` is everything but subresources.
        self._touched: set[tuple[Place, str]] = set()
        #: Resources whose definition differs in the plan: the live server would judge them by the old one.
        self.local_resources: set[str] = set()

    @property
    def is_offline(self) -> bool:
        """Whether no dry runs are sent."""
        return self._live is None

    async def send(self, request: Request, info: RequestInfo, served: ServedResource, query: Query) -> Response:
        """Carry out a write in the shadow and return the answer that a server would give."""
        body = _decoded(request.body)
        name = info.name or (metadata_of(body).get("name", "") if isinstance(body, dict) else "")
        place = Place(served.stored_as, info.namespace if served.namespaced else "", name)
        if place.namespace:
            await self._shadow.load_namespace(place.namespace)
        is_many = request.method == "DELETE" and not name
        if name or is_many:
            refusal = await self._shadow.load(
                RequestInfo(info.group, info.version, info.resource, place.namespace, name), served, query
            )
            # An operator may lack the permission to read what it creates; the dry run shows whether the name is taken.
            is_blind_create = request.method == "POST" and not info.subresource
            if refusal is not None and not (is_blind_create and refusal.status == _FORBIDDEN):
                return refusal
        response = await self._checked(Write(request, info, served, query, place, body))
        if name and response.status < _FAILURE and "dryRun" not in query:
            self._shadow.log.accept(place, request.method, info.subresource)
        if request.method == "DELETE" and name:
            await self._cascade.begin_foreground(place)
        await self._cascade.run()
        return response

    async def _checked(self, write: Write) -> Response:
        judge = self._judge_of(write)
        live = None if judge is None else _as_live(write, self._shadow)
        if judge is None or live is None:
            return await self._by_shadow(write)
        answer = await judge.request(as_dry_run(live))
        if answer.status >= _FAILURE:
            return await self._rejected(write, answer)
        if self._is_laid(write, answer):
            return self._lay(write, answer)
        return await self._by_shadow(write)

    def _judge_of(self, write: Write) -> Transport | None:
        """Return the live server if it can judge a write; note the reason if it cannot."""
        if self._live is None or "dryRun" in write.query:
            return None
        reason = self._not_checked(write)
        if reason:
            self._shadow.log.judged_locally.setdefault(write.place, reason)
        return None if reason else self._live

    def _not_checked(self, write: Write) -> str:
        """Return why the live server cannot judge a write; empty if it can."""
        log, place = self._shadow.log, write.place
        if place.resource in self.local_resources:
            return "its definition differs in this plan"
        if place.namespace and log.is_new(Place("namespaces", "", place.namespace)):
            return "its namespace exists only in this plan"
        if not log.is_changed(place):
            return ""
        if not self._shadow.live_version(place) or self._shadow.record(place) is None:
            return "it exists only in this plan"
        if (place, write.info.subresource) in self._touched:
            return "it was written before in this plan"
        return ""

    async def _rejected(self, write: Write, answer: Response) -> Response:
        if (unable := _NO_DRY_RUN.search(_message(answer))) is not None:
            self._shadow.log.judged_locally[write.place] = f"webhook {unable[1]} does not support dry runs"
            return await self._by_shadow(write)
        if answer.status == _CONFLICT and not self._shadow.log.is_changed(write.place) and write.place.name:
            # The live object may have changed since it was read: the next run is to see it.
            await self._shadow.reload(write.served, write.place)
        return answer

    def _is_laid(self, write: Write, answer: Response) -> bool:
        """Return whether a response can be stored as the object: it is one, and the plan has not changed it before."""
        if write.request.method == "DELETE" or write.info.subresource not in ("", "status"):
            return False
        record = self._shadow.record(write.place) if write.place.name else None
        if self._shadow.log.is_changed(write.place) or (record is not None and record.is_deleting):
            return False
        document = _decoded(answer.body)
        return isinstance(document, dict) and document.get("kind") == write.served.kind

    def _lay(self, write: Write, answer: Response) -> Response:
        document: JsonObject = decode_json(answer.body)
        record = self._shadow.record(write.place) if write.place.name else None
        if record is not None and without_bookkeeping(record.decode()) == without_bookkeeping(document):
            return _answered(answer, self._shadow.server.objects.raw(write.served, record))
        metadata = metadata_of(document)
        place = Place(write.served.stored_as, metadata.get("namespace") or "", metadata["name"])
        self._touched.add((place, write.info.subresource))
        return _answered(answer, self._shadow.lay(write.served, document))

    async def _by_shadow(self, write: Write) -> Response:
        if write.place.name:
            self._touched.add((write.place, write.info.subresource))
        return await self._shadow.transport.request(write.request)


def _answered(answer: Response, body: bytes) -> Response:
    """Return the live server's answer, with its warnings, for an object as the shadow has it."""
    return Response(answer.status, [one for one in answer.headers if one[0] in _PASSED_ON], body)


def _as_live(write: Write, shadow: Shadow) -> Request | None:
    """Return a write with the live object's version as its precondition; ``None`` if the shadow's version differs."""
    request, body = write.request, write.body
    record = shadow.record(write.place) if write.place.name else None
    if record is None or body is None:
        return request
    version = shadow.live_version(write.place)

    def translate(known: Any) -> str | None:
        return version if known == record.resource_version else None

    changed = _with_version(body, translate)
    if changed is _STALE:
        return None
    return (
        request if changed is body else Request(request.method, request.target, request.headers, encode_json(changed))
    )


_STALE: Final = object()


def _with_version(body: Any, translate: Callable[[Any], str | None]) -> Any:
    """Return a body with translated resource versions; ``_STALE`` if one of them cannot be translated."""
    if isinstance(body, list):
        operations = [_with_pointer(operation, translate) for operation in body]
        return _STALE if _STALE in operations else operations
    for holder in ("metadata", "preconditions"):
        part = body.get(holder) if isinstance(body, dict) else None
        if isinstance(part, dict) and part.get("resourceVersion"):
            version = translate(part["resourceVersion"])
            return _STALE if version is None else {**body, holder: {**part, "resourceVersion": version}}
    return body


def _with_pointer(operation: Any, translate: Callable[[Any], str | None]) -> Any:
    if not isinstance(operation, dict) or operation.get("path") != _VERSION_POINTER or "value" not in operation:
        return operation
    version = translate(operation["value"])
    return _STALE if version is None else {**operation, "value": version}


def _message(answer: Response) -> str:
    status = _decoded(answer.body)
    return str(status.get("message", "")) if isinstance(status, dict) else ""


def _decoded(body: bytes) -> Any:
    if not body:
        return None
    try:
        return decode_json(body)
    except DecodeError:
        return None
