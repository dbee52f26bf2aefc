import asyncio
from collections.abc import Awaitable

import pytest
import uvloop

from steersman.clock import RealClock
from steersman.errors import ConnectionLost, TlsError
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.certificates import CertificateAuthority
from steersman.serving.server import Listen, Server
from steersman.serving.tls import server_context
from steersman.transport.config import ClusterConfig
from steersman.transport.http.tls import TlsConfig
from steersman.transport.http.transport import connect

AUTHORITY = CertificateAuthority.create("authority", clock=RealClock())


class SmallApp:
    """Answers of each kind."""

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer by path."""
        if request.target == "/stream":
            stream = exchange.stream(200, [])
            stream.write(b"x" * 3_000_000)
            stream.close()
        elif request.target == "/reset":
            exchange.reset()
        elif request.target == "/later":
            return self._later(exchange)
        else:
            exchange.respond(Response(200, [], request.body))
        return None

    async def _later(self, exchange: Exchange) -> None:
        exchange.respond(Response(200, [], b"later"))


async def _everything(is_tls: bool) -> None:
    pair = AUTHORITY.issue_server(["127.0.0.1"])
    tls = server_context(certificate=pair.certificate, key=pair.key) if is_tls else None
    trust = TlsConfig(ca=AUTHORITY.certificate.decode())
    async with Server(SmallApp(), clock=RealClock(), listen=Listen(tls=tls)) as server:
        transport = connect(ClusterConfig(server=server.url, tls=trust), clock=RealClock())
        async with asyncio.TaskGroup() as tasks:
            calls = [tasks.create_task(transport.request(Request("POST", "/", {}, b"%d" % n))) for n in range(50)]
        assert [call.result().body for call in calls] == [b"%d" % n for n in range(50)]
        assert (await transport.request(Request("GET", "/later"))).body == b"later"
        async with transport.stream(Request("GET", "/stream")) as stream:
            assert len(await stream.read()) == 3_000_000
        with pytest.raises(ConnectionLost):
            await transport.request(Request("POST", "/reset"))
        await transport.close()
        if is_tls:
            stranger = connect(ClusterConfig(server=server.url), clock=RealClock())
            with pytest.raises(TlsError):
                await stranger.request(Request("GET", "/"))
            await stranger.close()


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "TLS"])
def test_client_and_server_work_on_uvloop(is_tls: bool) -> None:
    """Operators run on uvloop where it installs; its transports differ in the details."""
    uvloop.run(_everything(is_tls))
