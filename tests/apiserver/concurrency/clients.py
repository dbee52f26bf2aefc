"""Clients that run random operations on a few objects, and watchers of those, over any transport."""

import json
from collections.abc import Callable
from typing import Any

from steersman.protocol.http import Request, Response
from steersman.randomness import Randomness
from steersman.transport.base import Transport
from tests.apiserver.concurrency.history import Change, Operation, State, change_of

PATH = "/api/v1/namespaces/default/configmaps"
NAMES = tuple(f"key-{number}" for number in range(6))
_JSON = {"content-type": "application/json", "accept": "application/json"}


class Ticks:
    """A counter that grows with every call, so that an earlier answer has a smaller number than a later request."""

    def __init__(self) -> None:
        self._now = 0

    def __call__(self) -> int:
        """Return the next number."""
        self._now += 1
        return self._now


class RandomClient:
    """Runs random operations, one after the other, and records each with its answer."""

    def __init__(self, number: int, transport: Transport, ticks: Ticks, operations: list[Operation]) -> None:
        self._number = number
        self._transport = transport
        self._ticks = ticks
        self._operations = operations
        self._random = Randomness(number)
        self._known: dict[str, State] = {}
        self._count = 0

    async def run(self, count: int) -> None:
        """Run that many operations."""
        kinds = (self._get, self._create, self._update, self._update, self._delete, self._list)
        for _ in range(count):
            kind = kinds[int(self._random.between(0, len(kinds)))]
            await kind(NAMES[int(self._random.between(0, len(NAMES)))])

    async def create_last(self) -> int:
        """Create one object under a unique name and return its version."""
        await self._create("last")
        return self._known["last"].version

    async def _ask(self, operation: Operation, method: str, path: str, body: Any = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        operation.asked = self._ticks()
        response: Response = await self._transport.request(Request(method, path, dict(_JSON), data))
        operation.answered = self._ticks()
        operation.status = response.status
        self._operations.append(operation)
        return json.loads(response.body)

    def _learn(self, operation: Operation, answer: Any) -> None:
        if operation.status in (200, 201):
            operation.seen = self._known[operation.name] = _state(answer)

    async def _get(self, name: str) -> None:
        operation = Operation("get", name, 0, 0, 0)
        self._learn(operation, await self._ask(operation, "GET", f"{PATH}/{name}"))

    async def _create(self, name: str) -> None:
        operation = Operation("create", name, 0, 0, 0)
        self._learn(operation, await self._ask(operation, "POST", PATH, self._object(name)))

    async def _update(self, name: str) -> None:
        known = self._known.get(name)
        if known is None:
            await self._get(name)
            return
        operation = Operation("update", name, 0, 0, 0, expected=known.version)
        body = self._object(name, resourceVersion=str(known.version))
        answer = await self._ask(operation, "PUT", f"{PATH}/{name}", body)
        self._learn(operation, answer)
        if operation.status not in (200, 201):
            del self._known[name]

    async def _delete(self, name: str) -> None:
        known = self._known.pop(name, None)
        if known is None:
            await self._get(name)
            return
        operation = Operation("delete", name, 0, 0, 0, uid=known.uid)
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": known.uid}}
        await self._ask(operation, "DELETE", f"{PATH}/{name}", body)

    async def _list(self, name: str) -> None:
        del name
        operation = Operation("list", "", 0, 0, 0)
        answer = await self._ask(operation, "GET", PATH)
        operation.list_version = int(answer["metadata"]["resourceVersion"])
        operation.listed = {item["metadata"]["name"]: _state(item) for item in answer["items"]}

    def _object(self, name: str, **metadata: str) -> dict[str, Any]:
        self._count += 1
        value = f"{self._number}/{self._count}"  # no two writes are alike, so none is a no-op
        return {"metadata": {"name": name, **metadata}, "data": {"value": value}}


def _state(obj: dict[str, Any]) -> State:
    metadata = obj["metadata"]
    return State(int(metadata["resourceVersion"]), metadata["uid"], obj["data"]["value"])


class Watcher:
    """Watches from a version; on request disconnects after some events and resumes from the last one."""

    def __init__(self, transport: Transport, version: int, *, breaks_after: int = 0, query: str = "") -> None:
        self._transport = transport
        self.version = version
        self._breaks_after = breaks_after
        self._query = query
        self.changes: list[Change] = []
        #: Versions of the bookmarks, each with the number of changes seen before it.
        self.bookmarks: list[tuple[int, int]] = []

    async def run(self, is_enough: Callable[[int], bool]) -> None:
        """Watch until a condition on the version holds."""
        while not is_enough(self.version):
            await self._once(is_enough)

    async def _once(self, is_enough: Callable[[int], bool]) -> None:
        target = f"{PATH}?watch=true&resourceVersion={self.version}{self._query}"
        left = self._breaks_after or -1
        buffer = b""
        async with self._transport.stream(Request("GET", target, dict(_JSON))) as stream:
            assert stream.status == 200
            async for chunk in stream:
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
                    left -= 1
                    if left == 0 or is_enough(self.version):
                        return

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "BOOKMARK":
            self.version = int(event["object"]["metadata"]["resourceVersion"])
            self.bookmarks.append((self.version, len(self.changes)))
            return
        change = change_of(event)
        self.version = change.version
        self.changes.append(change)
