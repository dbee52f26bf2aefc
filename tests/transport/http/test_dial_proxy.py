import asyncio

import pytest

from steersman.clock import RealClock
from steersman.errors import ConfigError, ConnectionFailed
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.certificates import CertificateAuthority
from steersman.serving.server import Listen, Server
from steersman.serving.tls import server_context
from steersman.transport.endpoint import Endpoint, Proxy
from steersman.transport.http.proxies import proxy_from_environment
from steersman.transport.http.tls import TlsConfig
from tests.support.peer import PeerConnection, Script, answer, scripted
from tests.transport.conftest import Connect

GET = Request("GET", "/")
AUTHORITY = CertificateAuthority.create("test authority", clock=RealClock())


class Hello:
    """Answers."""

    def handle(self, request: Request, exchange: Exchange) -> None:  # noqa: ARG002 - an app's signature
        """Answer."""
        exchange.respond(Response(200, [], b"hello"))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


def _tunnel(seen: list[bytes]) -> Script:
    async def script(connection: PeerConnection) -> None:
        request = await connection.request()
        seen.append(request)
        _, port = request.split(b" ")[1].rsplit(b":", 1)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        await connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pump(reader, connection.writer))
                tasks.create_task(_pump(connection.reader, writer))
        finally:
            writer.transport.abort()

    return script


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "TLS"])
async def test_a_proxy_opens_a_tunnel(connected: Connect, is_tls: bool) -> None:
    """Many companies allow only connections through a proxy; TLS stays between us and the server."""
    pair = AUTHORITY.issue_server(["127.0.0.1"])
    tls = server_context(certificate=pair.certificate, key=pair.key) if is_tls else None
    seen: list[bytes] = []
    async with Server(Hello(), clock=RealClock(), listen=Listen(tls=tls)) as server, scripted(_tunnel(seen)) as proxy:
        config = {"proxy": Proxy.parse(f"http://user:pass%20word@127.0.0.1:{proxy.port}")}
        async with connected(server.url, tls=TlsConfig(ca=AUTHORITY.certificate.decode()), **config) as transport:
            first, second = await transport.request(GET), await transport.request(GET)
    assert (first.body, second.body) == (b"hello", b"hello")
    assert seen == [
        f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n"
        "proxy-authorization: Basic dXNlcjpwYXNzIHdvcmQ=\r\n\r\n".encode()
    ]


@pytest.mark.parametrize(
    "reply", [answer(403, b"no"), b"SSH-2.0\r\n\r\n", b""], ids=["forbidden", "garbage", "hangs up"]
)
async def test_a_proxy_that_rejects_is_named_without_its_password(connected: Connect, reply: bytes) -> None:
    """The message is logged; the login of the proxy must not be."""

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(reply)

    async with scripted(script) as proxy:
        config = {"proxy": Proxy.parse(f"http://user:hunter2@127.0.0.1:{proxy.port}")}
        async with connected("https://api.example.test", **config) as transport:
            with pytest.raises(ConnectionFailed, match=f"the proxy 127.0.0.1:{proxy.port}") as caught:
                await transport.request(GET)
    assert "hunter2" not in str(caught.value) + repr(transport)


@pytest.mark.parametrize(
    ("server", "no_proxy", "is_used"),
    [
        ("https://api.example.test", "", True),
        ("https://api.example.test", "other.test, example.test", False),
        ("https://api.example.test", ".example.test", False),
        ("https://example.test", ".example.test", True),
        ("https://notexample.test", "example.test", True),
        ("https://api.example.test:6443", "example.test:443", True),
        ("https://api.example.test", "*", False),
        ("https://10.1.2.3", "10.0.0.0/8", False),
        ("https://10.1.2.3", "10.1.2.3", False),
        ("https://10.1.2.3", "11.0.0.0/8,10.1.2.3:80", True),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
        ("http://api.example.test", "", False),
    ],
)
def test_the_environment_lists_servers_that_are_reached_directly(server: str, no_proxy: str, is_used: bool) -> None:
    """The same variables must mean the same as for kubectl on the same machine."""
    environ = {"HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": no_proxy}
    assert (proxy_from_environment(Endpoint.parse(server), environ) is not None) == is_used


@pytest.mark.parametrize(
    "url", ["socks5://proxy.test", "http://", "http://proxy.test:port", "http://a:secret@proxy.test:99999"]
)
def test_a_proxy_that_is_not_an_http_url_is_rejected_without_its_password(url: str) -> None:
    """A typo in a URL is shown to the user; the password in it is not."""
    with pytest.raises(ConfigError) as caught:
        Proxy.parse(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "host_header", "shown"),
    [
        ("https://a.test", "a.test", "https://a.test"),
        ("https://a.test:443/", "a.test", "https://a.test"),
        ("http://a.test:8080/k8s/", "a.test:8080", "http://a.test:8080/k8s"),
        ("a.test:6443", "a.test:6443", "https://a.test:6443"),
        ("https://[::1]:6443", "[::1]:6443", "https://[::1]:6443"),
        ("https://[::1]", "[::1]", "https://[::1]"),
    ],
)
def test_urls_of_servers_are_parsed(url: str, host_header: str, shown: str) -> None:
    """Kubeconfigs contain all of these spellings."""
    endpoint = Endpoint.parse(url)
    assert (endpoint.host_header, str(endpoint)) == (host_header, shown)
