"""A server for one test, and short ways to send requests to it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from steersman.apiserver.resources.request_context import User
from steersman.apiserver.server import ApiServer
from steersman.concurrency import background
from steersman.protocol.http import Request, Response
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport

Document = dict[str, Any]
ADMIN = User("admin", ("system:masters", "system:authenticated"))
BOATS = "/apis/sea.dev/v1/namespaces/default/boats"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(**version: Any) -> Document:
    """Return the CRD of boats, which have a sail from 0 to 9 and a status."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"sails": {"type": "integer", "minimum": 0, "maximum": 9, "default": 1}},
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    entry = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        **version,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.dev"},
        "spec": {
            "group": "sea.dev",
            "scope": "Namespaced",
            "names": {"plural": "boats", "kind": "Boat", "shortNames": ["bt"]},
            "versions": [entry],
        },
    }


def boat(name: str, *, sails: int | None = None, **metadata: Any) -> Document:
    """Return a boat."""
    spec = {} if sails is None else {"sails": sails}
    return {"apiVersion": "sea.dev/v1", "kind": "Boat", "metadata": {"name": name, **metadata}, "spec": spec}


class Events:
    """The events that one watch has received so far."""

    def __init__(self) -> None:
        self._text = b""

    def feed(self, chunk: bytes) -> None:
        """Parse the next bytes of the stream."""
        self._text += chunk

    @property
    def all(self) -> list[Document]:
        """Return the complete events."""
        return [json.loads(line) for line in self._text.splitlines() if line.strip()]

    @property
    def brief(self) -> list[tuple[str, str]]:
        """Return type and name of each event."""
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in self.all]


class Api:
    """A fresh server whose clock does not advance."""

    def __init__(self, tokens: dict[str, User] | None = None) -> None:
        self.clock = FakeClock()
        self.server = ApiServer(clock=self.clock, randomness=Randomness(5), tokens=tokens)
        self.transport = InMemoryTransport(self.server, clock=self.clock)

    async def send(self, method: str, target: str, body: Any = None, **headers: str) -> Response:
        """Send a request once and return the answer."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.transport._request(Request(method, target, named, data), None)

    async def ask(self, method: str, target: str, body: Any = None, **headers: str) -> Any:
        """Send a request and return the document of the answer."""
        return json.loads((await self.send(method, target, body, **headers)).body)

    async def define(self, **version: Any) -> None:
        """Create the CRD of boats."""
        answer = await self.send("POST", DEFINITIONS, definition(**version))
        assert answer.status == 201, answer.body

    @asynccontextmanager
    async def watching(self, target: str, **headers: str) -> AsyncIterator[Events]:
        """Watch during the block."""
        events = Events()
        started = asyncio.Event()

        async def collect() -> None:
            async with self.transport.stream(Request("GET", target, headers), idle=None) as stream:
                started.set()
                async for chunk in stream:
                    events.feed(chunk)

        async with background(collect(), name="watch"):
            await started.wait()
            await self.clock.settle()
            yield events
