"""The two servers: each handles the operations of a scenario and keeps its answers."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from steersman.apiserver.server import ApiServer
from steersman.clock import RealClock
from steersman.protocol.http import Request
from steersman.transport.base import Transport
from steersman.transport.in_memory import InMemoryTransport
from tests.contract.difference.operation import Answers, Operation, Places

_CLOCK = RealClock()
#: Seconds after which a custom resource that is not served counts as never served.
_SERVED_WITHIN = 20.0
#: Seconds within which a server applies a changed CRD.
_CHANGED_AFTER = 0.4
_WATCH_WITHIN = 1.5
#: The user agent for both servers; field managers are named after it.
AGENT = "difference/1.0"


@dataclass(slots=True)
class Answer:
    """The answer of a server."""

    status: int
    body: Any
    warnings: list[str] = field(default_factory=list)
    sent: bytes = b""
    path: str = ""


class Peer:
    """One server in one scenario."""

    def __init__(self, transport: Transport, places: Places, *, is_real: bool, patience: float = 1.0) -> None:
        self._transport = transport
        self._is_real = is_real
        #: How many times longer than usual to wait: a server on a busy machine is late.
        self._patience = patience
        self._answers = Answers(places)

    @classmethod
    def embedded(cls, places: Places, *, patience: float = 1.0) -> "Peer":
        """Return an embedded server without objects."""
        transport = InMemoryTransport(ApiServer(clock=_CLOCK), clock=_CLOCK, headers={"user-agent": AGENT})
        return cls(transport, places, is_real=False, patience=patience)

    async def play(self, operation: Operation) -> Answer:
        """Send one operation."""
        path = self._answers.path(operation)
        headers = {"accept": operation.accept}
        body = b""
        if operation.body is not None:
            document = self._answers.document(operation)
            body = document.encode() if isinstance(document, str) else json.dumps(document).encode()
            headers["content-type"] = operation.content_type
        request = Request(operation.method, path, headers, body)
        until = self._answers.places.put(operation.until)
        answer = await self._watch(request, until) if until else await self._send(request)
        if operation.own:
            answer.body = _own(answer.body, self._answers.places.put(operation.own))
        answer.sent, answer.path = body, path
        if operation.serves and self._is_real and answer.status < 300:
            await self._settle(operation, path, is_new=answer.status == 201)
        if operation.serves and answer.status < 300:
            answer.body = await self._definition(path, operation)
        self._answers.answers[operation.number] = answer.body
        return answer

    async def _definition(self, path: str, operation: Operation) -> Any:
        """Read a CRD again: its conditions are set a moment after it is written."""
        if "dryRun" in path:
            return None
        place = path.partition("?")[0]
        if operation.method == "POST":
            place += f"/things.{self._answers.places.group}"
        return (await self._send(Request("GET", place, {"accept": "application/json"}))).body

    async def _settle(self, operation: Operation, path: str, *, is_new: bool) -> None:
        if "dryRun" in path:
            return
        if not is_new:
            await _CLOCK.sleep(_CHANGED_AFTER * self._patience)
            return
        collection = self._answers.places.put(operation.serves)
        deadline = _CLOCK.monotonic() + _SERVED_WITHIN
        while _CLOCK.monotonic() < deadline:
            answer = await self._send(Request("GET", f"{collection}?limit=1", {"accept": "application/json"}))
            if answer.status == 200 and await self._is_established(path):
                return
            await _CLOCK.sleep(0.05)

    async def _is_established(self, path: str) -> bool:
        place = f"{path.partition('?')[0]}/things.{self._answers.places.group}"
        body = (await self._send(Request("GET", place, {"accept": "application/json"}))).body
        conditions = (body.get("status") or {}).get("conditions") or []
        return any(found["type"] == "Established" and found["status"] == "True" for found in conditions)

    async def _send(self, request: Request) -> Answer:
        response = await self._transport.request(request)
        body = _parsed(response.body.decode("utf-8", "replace"))
        return Answer(response.status, body, response.header_values("warning"))

    async def _watch(self, request: Request, until: str) -> Answer:
        """Read events until one is about the object that was written last."""
        data = b""
        async with self._transport.stream(request) as stream:
            if stream.status != 200:
                return Answer(stream.status, _parsed((await stream.read()).decode()))
            try:
                async with asyncio.timeout(_WATCH_WITHIN * self._patience):
                    async for chunk in stream:
                        data += chunk
                        if _tells_of(data, until):
                            break
            except TimeoutError:
                pass
        whole = data[: data.rfind(b"\n") + 1]
        return Answer(200, [json.loads(line) for line in whole.splitlines() if line.strip()])

    async def clean_up(self, definitions: str, collection: str) -> None:
        """Delete the custom resources that a scenario leaves behind, and their CRD."""
        place = self._answers.places.put
        headers = {"content-type": "application/merge-patch+json"}
        listed = (await self._send(Request("GET", place(collection), {}))).body
        for item in (listed.get("items") or []) if isinstance(listed, dict) else []:
            path = f"{place(collection)}/{item['metadata']['name']}"
            if item["metadata"].get("finalizers"):
                await self._send(Request("PATCH", path, headers, b'{"metadata": {"finalizers": null}}'))
        await self._send(Request("DELETE", f"{definitions}/things.{self._answers.places.group}", {}))


def _own(body: Any, beginning: str) -> Any:
    """Return a list, table or events without the objects of other scenarios."""
    if isinstance(body, list):
        return [_own(event, beginning) for event in body if _begins(event.get("object"), beginning)]
    if not isinstance(body, dict):
        return body
    kept = {
        name: [item for item in body[name] or () if _begins(item, beginning)]
        for name in ("items", "rows")
        if name in body
    }
    return {**body, **kept}


def _begins(item: Any, beginning: str) -> bool:
    if item.get("kind") == "Table":
        return any(_begins(row, beginning) for row in item.get("rows") or ())
    metadata = (item.get("object") or item).get("metadata") or {}
    return item.get("kind") == "Status" or str(metadata.get("name", "")).startswith(beginning)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _tells_of(data: bytes, name: str) -> bool:
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    return any(f'"name":"{name}"'.encode() in line for line in lines[-3:])
