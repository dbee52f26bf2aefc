"""WebSockets over an upgraded connection, both ends."""

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
    """One end of a pipe in memory."""

    def __init__(self, incoming: asyncio.Queue[bytes], outgoing: asyncio.Queue[bytes]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._outgoing.put_nowait(data)

    def close(self) -> None:
        """End it."""
        self._outgoing.put_nowait(b"")

    async def drain(self) -> None:
        """Never wait."""

    async def receive(self) -> bytes:
        """Wait for bytes."""
        return await self._incoming.get()


def connected() -> tuple[WebSocket, WebSocket, Wire]:
    """Give a client, a server, and the client's wire."""
    there: asyncio.Queue[bytes] = asyncio.Queue()
    back: asyncio.Queue[bytes] = asyncio.Queue()
    wire = Wire(back, there)
    return WebSocket(wire, is_client=True), WebSocket(Wire(there, back), is_client=False), wire


def test_the_handshake_is_that_of_the_specification() -> None:
    """The example of RFC 6455, so that other people's clients agree."""
    headers = {"upgrade": "WebSocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert is_websocket(headers)
    assert dict(accept_headers(headers, "p"))["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert not is_websocket({"upgrade": "SPDY/3.1"})
    assert offered_protocols({"sec-websocket-protocol": "a, b"}) == ["a", "b"]
    assert request_headers(b"the sample nonce", ["a", "b"])["sec-websocket-key"] == "dGhlIHNhbXBsZSBub25jZQ=="


async def test_messages_arrive_whole_and_in_order() -> None:
    """However large they are."""
    client, server, _ = connected()
    for text in (b"one", b"", b"x" * 100_000):
        client.send(text)
    assert [await server.receive() for _ in range(3)] == [b"one", b"", b"x" * 100_000]
    server.send(b"back")
    assert await client.receive() == b"back"


async def test_closing_one_end_ends_the_other() -> None:
    """Nobody waits for ever."""
    client, server, _ = connected()
    client.send(b"last")
    client.close()
    assert await server.receive() == b"last"
    assert await server.receive() is None
    server.send(b"into the void")
    server.close()
    assert server.is_closed


async def test_a_peer_that_does_not_speak_websocket_is_hung_up_on() -> None:
    """Nonsense is the end of the conversation, not of the server."""
    _, server, wire = connected()
    wire.write(b"\xff" * 20)
    assert await server.receive() is None
    assert server.is_closed


async def test_a_message_without_end_is_refused() -> None:
    """Memory has one."""
    client, server, _ = connected()
    client.send(b"x" * (4 * 1024 * 1024 + 1))
    with pytest.raises(DecodeError, match="exceeds"):
        await server.receive()


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        (ended(0), (0, "")),
        (ended(3), (3, "command terminated with non-zero exit code: exit status 3")),
        (failed("no such program"), (None, "Internal error occurred: no such program")),
        (b"[]", (None, "the server sent no status")),
    ],
)
def test_the_end_of_a_command_is_told_and_understood(told: bytes, meant: tuple[int | None, str]) -> None:
    """Its exit code is an answer; that it could not be run is none."""
    assert read_end(told) == meant


def test_a_message_begins_with_its_channel() -> None:
    """As every client of Kubernetes expects."""
    assert message(Channel.STDERR, b"oops") == b"\x02oops"
