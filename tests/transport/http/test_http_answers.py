import asyncio
import gzip
import itertools
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.clock import RealClock
from steersman.errors import BadAnswer, ConnectionFailed
from steersman.protocol.http import Request
from steersman.transport.config import ClusterConfig
from steersman.transport.http.connection import Connection
from steersman.transport.http.receivers import WholeResponse
from steersman.transport.http.transport import connect
from steersman.transport.limits import Limits
from tests.support.peer import OK, PeerConnection, answer, answering, scripted
from tests.transport.conftest import Connect

GET = Request("GET", "/api/v1/pods?limit=1", {"accept": "application/json"})


async def test_a_request_is_encoded_as_written_by_hand(connected: Connect) -> None:
    """The bytes on the wire are the contract with every server."""
    seen = []

    async def script(connection: PeerConnection) -> None:
        seen.append(await connection.request())
        await connection.send(OK)

    async with scripted(script) as peer, connected(f"{peer.url}/k8s/c1/") as transport:
        await transport.request(Request("POST", "/api", {"content-type": "application/json"}, b"{}"))
    assert seen[0].startswith(b"POST /k8s/c1/api HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nuser-agent: steersman/" % peer.port)
    assert seen[0].endswith(
        b"\r\naccept-encoding: gzip\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
    )


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (answer(200, b"whole"), b"whole"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nwh\r\n3;x=y\r\nole\r\n0\r\ntrailer: t\r\n\r\n",
            b"whole",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwhole", b"whole"),
        (answer(200, gzip.compress(b"whole"), "content-encoding: gzip"), b"whole"),
        (answer(200, gzip.compress(b"who") + gzip.compress(b"le"), "content-encoding: gzip"), b"whole"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
    ids=["length", "chunks", "interim", "gzip", "gzip in two members", "no content"],
)
async def test_every_framing_of_an_answer_is_parsed(connected: Connect, data: bytes, body: bytes) -> None:
    """Servers and proxies differ in how they frame the same body; each leaves the connection usable."""
    async with scripted(answering(data, data)) as peer, connected(peer.url) as transport:
        first, second = await transport.request(GET), await transport.request(GET)
    assert (first.body, second.body, peer.connections) == (body, body, 1)


async def test_an_answer_without_a_length_ends_with_the_connection(connected: Connect) -> None:
    """HTTP/1.0 style answers come from old proxies."""

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.0 200 OK\r\n\r\nwhole")

    async with scripted(script) as peer, connected(peer.url) as transport:
        assert (await transport.request(GET)).body == b"whole"


async def test_the_answer_to_head_has_no_body_whatever_its_length(connected: Connect) -> None:
    """The parser does not know the request; waiting for that body would hang."""
    async with (
        scripted(answering(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n")) as peer,
        connected(peer.url) as transport,
    ):
        assert (await transport.request(Request("HEAD", "/"))).body == b""


async def test_an_html_page_is_an_answer_like_any_other(connected: Connect) -> None:
    """A proxy's login page must reach the layer that can report it, with its status and type."""
    page = answer(502, b"<html>Bad Gateway</html>", "content-type: text/html")
    async with scripted(answering(page)) as peer, connected(peer.url) as transport:
        response = await transport.request(GET)
    assert (response.status, response.header("content-type")) == (502, "text/html")


@pytest.mark.parametrize(
    "garbage",
    [b"SSH-2.0-OpenSSH_9.6\r\n", b"\x15\x03\x01\x00\x02\x02", b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok"],
    ids=["another protocol", "TLS alert", "bare line feeds"],
)
async def test_garbage_is_a_bad_response(connected: Connect, garbage: bytes) -> None:
    """A wrong port is a common mistake; the message must not be a parser's traceback."""
    async with scripted(answering(garbage)) as peer, connected(peer.url) as transport:
        with pytest.raises(BadAnswer, match="does not speak HTTP"):
            await transport.request(GET)


async def test_an_endless_head_is_aborted(connected: Connect) -> None:
    """Memory is bounded before the first byte of the body."""

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await connection.send(b"x-header: " + b"y" * 1000 + b"\r\n")

    async with scripted(script) as peer, connected(peer.url, limits=Limits(head=20_000)) as transport:
        with pytest.raises(BadAnswer, match="head of the response exceeds 20000"):
            await transport.request(GET)


@pytest.mark.parametrize(
    "data",
    [
        answer(200, b"x" * 1001),
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        b"1f4\r\n" + b"x" * 500 + b"\r\n" + b"1f5\r\n" + b"x" * 501,
        answer(200, gzip.compress(b"x" * 1001), "content-encoding: gzip"),
    ],
    ids=["length", "chunks", "gzip"],
)
async def test_a_body_beyond_the_limit_is_aborted(connected: Connect, data: bytes) -> None:
    """In any framing or compression, no answer can exhaust the memory."""
    async with scripted(answering(data)) as peer, connected(peer.url, limits=Limits(body=1000)) as transport:
        with pytest.raises(BadAnswer, match="exceeds 1000 bytes"):
            await transport.request(GET)


async def test_a_gzip_bomb_is_not_decompressed(connected: Connect) -> None:
    """A few kilobytes can become gigabytes; only the allowed amount is decompressed."""
    bomb = zlib.compress(b"\0" * 50_000_000, 9, wbits=31)
    async with (
        scripted(answering(answer(200, bomb, "content-encoding: gzip"))) as peer,
        connected(peer.url, limits=Limits(body=1_000_000)) as transport,
    ):
        with pytest.raises(BadAnswer, match="exceeds"):
            await transport.request(GET)


@pytest.mark.parametrize("body", [b"not gzip at all", gzip.compress(b"whole")[:-3]], ids=["garbage", "truncated"])
async def test_broken_gzip_is_a_bad_response(connected: Connect, body: bytes) -> None:
    """Half a body must not pass for a whole one."""
    async with (
        scripted(answering(answer(200, body, "content-encoding: gzip"))) as peer,
        connected(peer.url) as transport,
    ):
        with pytest.raises(BadAnswer):
            await transport.request(GET)


async def test_a_second_answer_to_one_request_never_reaches_the_next_request(connected: Connect) -> None:
    """Shifted answers would return another caller's object."""
    async with (
        scripted(answering(OK + answer(200, b"not yours")), answering(OK)) as peer,
        connected(peer.url) as transport,
    ):
        first = await transport.request(Request("POST", "/"))
        second = await transport.request(Request("POST", "/"))
    assert (first.body, second.body, peer.connections) == (b"ok", b"ok", 2)


async def test_repeated_headers_are_kept_separately(connected: Connect) -> None:
    """Warnings come as several headers of one name."""
    data = answer(200, b"", 'Warning: 299 - "a"', 'warning: 299 - "b é"')
    async with scripted(answering(data)) as peer, connected(peer.url) as transport:
        response = await transport.request(GET)
    assert response.header_values("warning") == ['299 - "a"', '299 - "b é"']


async def test_an_unreachable_server_is_a_failed_connection(connected: Connect) -> None:
    """The caller must know that nothing was sent."""
    async with scripted(answering(OK)) as peer:
        pass
    async with connected(peer.url) as transport:
        with pytest.raises(ConnectionFailed, match=f"{peer.url}: "):
            await transport.request(GET)


@pytest.mark.parametrize(
    "request_",
    [
        Request("GET", "/a b"),
        Request("GET", "/a\r\nx: y"),
        Request("GET", "relative"),
        Request("GET", "/", {"x": "a\r\nauthorization: Bearer stolen"}),
        Request("GET", "/", {"x\r\ny": "z"}),
        Request("GET", "/", {"x": "a\nb: c"}),
        Request("GET", "/", {"x": "a\rb: c"}),
        Request("GET /admin HTTP/1.1\r\nx:", "/"),
        Request("GET", "/", {"host": "elsewhere"}),
        Request("POST", "/", {"transfer-encoding": "chunked"}, b"x"),
    ],
    ids=[
        "space",
        "break in target",
        "relative",
        "break in value",
        "break in name",
        "feed",
        "return",
        "method",
        "host",
        "framing",
    ],
)
async def test_no_request_can_smuggle_another(connected: Connect, request_: Request) -> None:
    """Names of objects reach these fields; with any content, one request stays one request."""
    async with scripted(answering(OK)) as peer, connected(peer.url) as transport:
        with pytest.raises(ValueError, match=r"line break|not a request target|set by the transport"):
            await transport.request(request_)
    assert peer.connections == 0


class _Discard(asyncio.Transport):
    """Discards bytes."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Discard the bytes."""

    def is_closing(self) -> bool:
        """Stay open."""
        return False

    def close(self) -> None:
        """Do nothing."""


_CHUNKED = (
    b"HTTP/1.1 100 Continue\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
    b'5\r\n{"a":\r\n4\r\n"b"}\r\n0\r\n\r\n'
)
_COUNTED = b'HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nContent-Type: application/json\r\n\r\n{"a":"b"}'


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([_CHUNKED, _COUNTED]), st.lists(st.integers(0, 180), max_size=12))
def test_an_answer_is_parsed_the_same_at_any_split(data: bytes, cuts: list[int]) -> None:
    """The network may split bytes anywhere."""

    async def parse(pieces: list[bytes]) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = Connection(clock=RealClock(), limits=Limits(), on_free=lambda _: None, on_lost=lambda _: None)
        connection.connection_made(_Discard())
        whole = WholeResponse(connection, asyncio.get_running_loop().create_future(), limit=1000, is_bodiless=False)
        transport = connect(ClusterConfig(server="http://127.0.0.1:1"), clock=RealClock())
        connection.send(transport._encoder.encode(GET), whole, silence=None)
        for piece in pieces:
            connection.data_received(piece)
        response = await whole.answer
        return response.status, response.headers, response.body

    places = sorted({0, len(data), *(cut % len(data) for cut in cuts)})
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]
    assert asyncio.run(parse(pieces)) == asyncio.run(parse([data]))
