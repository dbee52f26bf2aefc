"""Input of a broken or hostile server, or of a careless caller: each raises a clear exception, and nothing hangs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.errors import BadAnswer, DecodeError, RequestEntityTooLarge, SteersmanError
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.meta import meta
from steersman.protocol.http import App, Exchange, Request, Response
from steersman.serving.server import Server
from steersman.transport.config import ClusterConfig

MIB = 1024 * 1024
JSON = [("content-type", "application/json")]


class ConstantServer:
    """A server whose answer is always the same."""

    def __init__(self, body: bytes, headers: list[tuple[str, str]] | None = None) -> None:
        self._response = Response(200, JSON if headers is None else headers, body)

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Send the answer."""
        del request
        exchange.respond(self._response)


@asynccontextmanager
async def client_of(app: App) -> AsyncIterator[Client]:
    """Return a client that is connected to an app over a socket."""
    async with (
        Server(app, clock=RealClock()) as server,
        Client.connect_to(ClusterConfig(server=server.url)) as client,
    ):
        yield client


async def test_an_object_over_the_limit_of_the_server_has_its_own_error() -> None:
    """The server limits bodies to 3 MiB; the caller must see that limit, not a broken connection."""
    async with client_of(ApiServer()) as client:
        with pytest.raises(RequestEntityTooLarge):
            await client.create(ConfigMap(meta("a"), data={"k": "x" * (3 * MIB + 1)}))
        assert (await client.create(ConfigMap(meta("b")))).name == "b"


async def test_an_object_of_three_megabytes_is_read() -> None:
    """A real server returns what it accepted, so the client must not have a smaller limit."""
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"' + b"x" * 3 * MIB + b'"}}'
    async with client_of(ConstantServer(body)) as client:
        assert len((await client.get(ConfigMap, "a")).data["k"]) == 3 * MIB  # type: ignore[index] # it is there


@pytest.mark.parametrize(
    "body",
    [
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"\xff\xfe"}}',
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":',
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":7}}',
        b"[" * 100_000,
        b"",
    ],
    ids=["invalid UTF-8", "cut off", "wrong type", "without end", "empty"],
)
async def test_an_answer_that_is_not_an_object_is_a_decode_error(body: bytes) -> None:
    """Whatever is wrong with the bytes, one type of exception is raised, and the connection stays usable."""
    async with client_of(ConstantServer(body)) as client:
        for _ in range(2):
            with pytest.raises((DecodeError, BadAnswer)):
                await client.get(ConfigMap, "a")


async def test_a_login_page_instead_of_the_api_has_its_own_error() -> None:
    """Behind a proxy that requires a login every answer is HTML: the error quotes its first words."""
    page = ConstantServer(b"<html><title>Please log in</title></html>", [("content-type", "text/html")])
    async with client_of(page) as client:
        with pytest.raises(SteersmanError, match="log in"):
            await client.get(ConfigMap, "a")
