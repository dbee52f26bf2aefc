import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.server import ApiServer
from steersman.clock import RealClock
from steersman.serving.certificates import CertificateAuthority
from steersman.serving.limits import ServerLimits
from steersman.serving.server import Listen, Server
from steersman.serving.tls import server_context
from tests.fuzz.conftest import amount

PATH = b"/api/v1/namespaces/default/configmaps"
GOOD = (
    b"GET " + PATH + b" HTTP/1.1\r\nhost: x\r\naccept: application/json\r\n\r\n",
    b"POST " + PATH + b" HTTP/1.1\r\nhost: x\r\ncontent-length: 25\r\n\r\n" + b'{"metadata":{"name":"a"}}',
    b"POST " + PATH + b" HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    b'19\r\n{"metadata":{"name":"b"}}\r\n0\r\n\r\n',
    b"GET /version HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
    b"GET /api/v1/pods?watch=true&timeoutSeconds=1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    b"GET /api/v1/namespaces/d/pods/p/exec HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    b"PUT " + PATH + b"/a HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}",
)
PIECES = (
    b"\r\n",
    b"\n",
    b"\0",
    b" ",
    b":",
    b"\xff",
    b"%",
    b"%00",
    b"/../",
    b"HTTP/9.9",
    b"content-length: -1\r\n",
    b"0\r\n\r\n",
)
BROKEN = st.builds(
    lambda good, place, cut, piece, repeat: (
        good[: place % len(good)] + piece * repeat + good[place % len(good) + cut :]
    ),
    st.sampled_from(GOOD),
    st.integers(0, 400),
    st.integers(0, 5),
    st.sampled_from(PIECES) | st.binary(max_size=4),
    st.sampled_from([1, 1, 1, 3, 2000]),
)


@asynccontextmanager
async def _server() -> AsyncIterator[Server]:
    clock = RealClock()
    limits = ServerLimits(head=64 * 1024, read_head=0.2, read_body=0.2, keep_alive=0.5, drain=0.2)
    async with Server(ApiServer(clock=clock), clock=clock, limits=limits) as server:
        yield server


async def _send(port: int, data: bytes) -> bytes:
    """Send bytes, disconnect, and return the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        writer.write_eof()
        return await asyncio.wait_for(reader.read(), 10)
    except (ConnectionResetError, BrokenPipeError):
        return b""
    finally:
        writer.close()


async def _converse(sayings: list[bytes]) -> None:
    async with _server() as server:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(_send(server.port, saying)) for saying in sayings]
        for answer in (task.result() for task in asked):
            assert not answer or answer.startswith(b"HTTP/1."), answer[:100]
            assert b" 500 " not in answer.partition(b"\r\n")[0], answer
        assert b"200 OK" in await _send(server.port, GOOD[0]), "the server goes on"


@given(st.lists(BROKEN | st.binary(max_size=300), min_size=20, max_size=20))
@amount(15)
def test_any_bytes_get_an_http_answer_or_none(sayings: list[bytes]) -> None:
    """Port scanners, broken proxies and other protocols must neither end a server nor get an invalid answer."""
    asyncio.run(_converse(sayings))


async def _over_tls(data: bytes) -> None:
    clock = RealClock()
    pair = CertificateAuthority.create("fuzz", clock=clock).issue_server(["127.0.0.1"])
    listen = Listen(tls=server_context(certificate=pair.certificate, key=pair.key))
    async with Server(ApiServer(clock=clock), clock=clock, listen=listen, limits=ServerLimits(drain=0.2)) as server:
        await _send(server.port, data)
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trusting)
        writer.write(GOOD[0])
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()
        await writer.wait_closed()


@given(st.sampled_from([GOOD[0], b"\x16\x03\x01\x02\x00\x01"]) | st.binary(min_size=1, max_size=200))
@amount(8)
def test_bytes_that_are_not_tls_do_not_disturb_a_tls_server(data: bytes) -> None:
    """Browsers and scripts often send plain HTTP to the wrong port."""
    asyncio.run(_over_tls(data))
