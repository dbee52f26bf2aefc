"""WebSockets over an upgraded connection, both sides."""

import asyncio

import pytest

from steersman.errors import DecodeError
from steersman.protocol.remote.remote_command import Channel, ended, failed, message, read_end
from steersman.protocol.remote.websocket import (
    WebSocket,
    accept_headers,
    is_websocket,
    offered_protocols,
    request_headers,
)


class Wire:
    """One side of a pipe in memory."""

    def __init__(self, incoming: asyncio.Queue[bytes], outgoing: asyncio.Queue[bytes]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._outgoing.put_nowait(data)

    def close(self) -> None:
        """Close the pipe."""
        self._outgoing.put_nowait(b"")

    async def drain(self) -> None:
        """Return at once."""

    async def receive(self) -> bytes:
        """Wait for bytes."""
        return await self._incoming.get()


def connected() -> tuple[WebSocket, WebSocket, Wire]:
    """Return a client, a server, and the client's side of the pipe."""
    there: asyncio.Queue[bytes] = asyncio.Queue()
    back: asyncio.Queue[bytes] = asyncio.Queue()
    wire = Wire(back, there)
    return WebSocket(wire, is_client=True), WebSocket(Wire(there, back), is_client=False), wire


def test_the_handshake_is_that_of_the_specification() -> None:
    """The example of RFC 6455, so that other clients agree."""
    headers = {"upgrade": "WebSocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert is_websocket(headers)
    assert dict(accept_headers(headers, "p"))["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert not is_websocket({"upgrade": "SPDY/3.1"})
    assert offered_protocols({"sec-websocket-protocol": "a, b"}) == ["a", "b"]
    assert request_headers(b"the sample nonce", ["a", "b"])["sec-websocket-key"] == "dGhlIHNhbXBsZSBub25jZQ=="


async def test_messages_arrive_complete_and_in_order() -> None:
    """At any size."""
    client, server, _ = connected()
    for text in (b"one", b"", b"x" * 100_000):
        client.send(text)
    assert [await server.receive() for _ in range(3)] == [b"one", b"", b"x" * 100_000]
    server.send(b"back")
    assert await client.receive() == b"back"


async def test_closing_one_side_ends_the_other() -> None:
    """Neither may wait forever."""
    client, server, _ = connected()
    client.send(b"last")
    client.close()
    assert await server.receive() == b"last"
    assert await server.receive() is None
    server.send(b"into the void")
    server.close()
    assert server.is_closed


async def test_a_peer_that_is_not_a_websocket_is_disconnected() -> None:
    """Invalid bytes end the connection, not the server."""
    _, server, wire = connected()
    wire.write(b"\xff" * 20)
    assert await server.receive() is None
    assert server.is_closed


async def test_an_endless_message_is_rejected() -> None:
    """Memory is limited."""
    client, server, _ = connected()
    client.send(b"x" * (4 * 1024 * 1024 + 1))
    with pytest.raises(DecodeError, match="exceeds"):
        await server.receive()


@pytest.mark.parametrize(
    ("encoded", "meant"),
    [
        (ended(0), (0, "")),
        (ended(3), (3, "command terminated with non-zero exit code: exit status 3")),
        (failed("no such program"), (None, "Internal error occurred: no such program")),
        (b"[]", (None, "the server sent no status")),
    ],
)
def test_the_result_of_a_command_is_encoded_and_decoded(encoded: bytes, meant: tuple[int | None, str]) -> None:
    """An exit code is a result; a command that could not be run is an error."""
    assert read_end(encoded) == meant


def test_a_message_begins_with_its_channel() -> None:
    """As every client of Kubernetes expects."""
    assert message(Channel.STDERR, b"oops") == b"\x02oops"
