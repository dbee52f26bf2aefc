"""A transport that answers from a script, and a client that uses it."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.client.client import Client
from steersman.errors import TransportError
from steersman.protocol.http import Request, Response
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.stream import ResponseStream

#: A scripted answer: a document, a complete response, or an exception.
Answer = dict[str, Any] | Response | TransportError


def as_response(answer: Answer) -> Response:
    """Return a scripted document as an answer."""
    if isinstance(answer, TransportError):
        raise answer
    if isinstance(answer, Response):
        return answer
    code = answer.get("code", 200) if answer.get("kind") == "Status" else 200
    return Response(code, [("content-type", "application/json")], json.dumps(answer).encode())


def failure(code: int, reason: str, message: str = "scripted") -> dict[str, Any]:
    """Return the Status of a failure."""
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}


class ScriptedTransport:
    """Answers requests and streams in the order of its script, and records the requests."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.answers: deque[Answer] = deque()
        self.streams: deque[ResponseStream | Answer] = deque()
        #: Called for each request when the script is empty.
        self.otherwise: Callable[[Request], Answer] | None = None
        self.open_streams = 0

    async def request(self, request: Request, *, timeout: float | None = None) -> Response:  # noqa: ASYNC109 - the protocol's
        """Return the next answer."""
        del timeout
        self.asked.append(request)
        if not self.answers and self.otherwise is not None:
            return as_response(self.otherwise(request))
        return as_response(self.answers.popleft())

    @asynccontextmanager
    async def stream(self, request: Request, *, idle: float | None = None) -> AsyncIterator[ResponseStream]:
        """Return the next stream."""
        del idle
        self.asked.append(request)
        if not self.streams:
            await asyncio.Event().wait()
        stream = self.streams.popleft()
        if not isinstance(stream, ResponseStream):
            response = as_response(stream)
            stream = ResponseStream(response.status, response.headers)
            stream.feed(response.body)
            stream.finish()
        self.open_streams += 1
        try:
            yield stream
        finally:
            self.open_streams -= 1

    def upgrade(self, request: Request, *, protocol: str) -> Any:
        """Reject the call; no test uses it."""
        raise NotImplementedError

    async def ping(self) -> None:
        """Answer a ping."""

    async def close(self) -> None:
        """Do nothing, since nothing is open."""

    def add_stream(self, *frames: dict[str, Any] | bytes, ends: bool = False) -> ResponseStream:
        """Add a stream with frames to the script; it stays open unless it ends."""
        stream = ResponseStream(200, [("content-type", "application/json")])
        for frame in frames:
            stream.feed(frame if isinstance(frame, bytes) else json.dumps(frame).encode() + b"\n")
        if ends:
            stream.finish()
        self.streams.append(stream)
        return stream

    @property
    def lines(self) -> list[str]:
        """The recorded requests, as method and target."""
        return [f"{request.method} {request.target}" for request in self.asked]

    def body(self, index: int = -1) -> Any:
        """Return the body of a request as JSON."""
        return json.loads(self.asked[index].body)


@pytest.fixture
def clock() -> FakeClock:
    """Return a clock that does not advance."""
    return FakeClock()


@pytest.fixture
def transport() -> ScriptedTransport:
    """Return a transport with an empty script."""
    return ScriptedTransport()


@pytest.fixture
def client(transport: ScriptedTransport, clock: FakeClock) -> Client:
    """Return a client of the scripted server."""
    return Client(transport, clock=clock, randomness=Randomness(1), field_manager="tester")
