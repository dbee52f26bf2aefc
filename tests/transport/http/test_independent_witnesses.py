"""Client and server of ours could share a misunderstanding of HTTP; those of the standard library do not."""

import asyncio
import http.client
import http.server
import threading
from collections.abc import Iterator

import pytest

from steersman.clock import RealClock
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.server import Server
from tests.transport.conftest import Connect


class _Echo:
    def handle(self, request: Request, exchange: Exchange) -> None:
        if request.target == "/stream":
            stream = exchange.stream(200, [("x-kind", "stream")])
            for piece in (b"one ", b"two ", b"three"):
                stream.write(piece)
            stream.close()
        else:
            exchange.respond(Response(200, [("x-method", request.method)], request.body))


def _ask_all(port: int) -> list[tuple[int, str | None, bytes]]:
    """Send requests over one connection: the second and third answer show that the first was framed correctly."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    answers = []
    for method, path, body in [
        ("POST", "/", b"whole"),
        ("GET", "/stream", None),
        ("HEAD", "/", None),
        ("PUT", "/", iter([b"in ", b"chunks"])),
        ("GET", "/", None),
    ]:
        connection.request(method, path, body, encode_chunked=False)
        response = connection.getresponse()
        answers.append((response.status, response.headers["x-method"] or response.headers["x-kind"], response.read()))
    connection.close()
    return answers


async def test_another_client_works_with_our_server() -> None:
    """One kept-alive connection carries every kind of answer and of body."""
    async with Server(_Echo(), clock=RealClock()) as server:
        answers = await asyncio.to_thread(_ask_all, server.port)
    assert answers == [
        (200, "POST", b"whole"),
        (200, "stream", b"one two three"),
        (200, "HEAD", b""),
        (200, "PUT", b"in chunks"),
        (200, "GET", b""),
    ]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Log nothing."""

    def do_POST(self) -> None:
        """Echo the body."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """Answer in chunks."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in (b"one ", b"two ", b""):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))


@pytest.fixture
def library_server() -> Iterator[int]:
    """Run the standard library's server in a thread; yield its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


async def test_our_client_works_with_another_server(connected: Connect, library_server: int) -> None:
    """The same connection is used again after either framing."""
    async with connected(f"http://127.0.0.1:{library_server}") as transport:
        for _ in range(2):
            assert (await transport.request(Request("POST", "/", {}, b"body"))).body == b"body"
            assert (await transport.request(Request("GET", "/"))).body == b"one two "
        assert "connections=1 " in repr(transport)
