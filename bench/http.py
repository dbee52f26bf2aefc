"""CPU time of one HTTP request: our client compared with aiohttp and httpx2, our server with aiohttp.web.

Every client asks the same server (ours, in a process of its own); every server is asked by the same client (ours). All
run on uvloop, 16 requests at a time over kept-alive connections, with an answer of 2.7 KB.
"""

import asyncio
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import aiohttp.web
import httpx2
import uvloop

from bench._results import Results
from steersman.clock import RealClock
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.server import Server
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import connect
from steersman.transport.in_memory import InMemoryTransport

_ROUNDS = 5
_REQUESTS = 2000
_AT_A_TIME = 16
_BODY = b'{"kind":"Pod","padding":"' + b"x" * 2675 + b'"}'
_PATH = "/api/v1/namespaces/default/pods/web-0"
_HEADERS = [("content-type", "application/json"), ("cache-control", "no-cache, private"), ("audit-id", "6a1b2c3d")]
_ACCEPT = {"accept": "application/json"}

Ask = Callable[[], Awaitable[int]]


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class _App:
    def handle(self, request: Request, exchange: Exchange) -> None:
        body = b"%.6f" % _cpu() if request.target == "/cpu" else _BODY
        exchange.respond(Response(200, _HEADERS, body))


async def _serve_ours() -> None:
    async with Server(_App(), clock=RealClock()) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


async def _serve_aiohttp() -> None:
    async def pod(request: aiohttp.web.Request) -> aiohttp.web.Response:  # noqa: ARG001 - aiohttp's signature
        return aiohttp.web.Response(body=_BODY, headers=dict(_HEADERS))

    async def cpu(request: aiohttp.web.Request) -> aiohttp.web.Response:  # noqa: ARG001 - aiohttp's signature
        return aiohttp.web.Response(body=b"%.6f" % _cpu())

    app = aiohttp.web.Application()
    app.router.add_get(_PATH, pod)
    app.router.add_get("/cpu", cpu)
    runner = aiohttp.web.AppRunner(app, access_log=None)
    await runner.setup()
    site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    print(f"http://{host}:{port}", flush=True)
    await asyncio.Event().wait()


_SERVERS = {"ours": _serve_ours, "aiohttp.web": _serve_aiohttp}


@asynccontextmanager
async def _ours(url: str) -> AsyncIterator[Ask]:
    transport = connect(ClusterConfig(server=url), clock=RealClock())

    async def ask() -> int:
        return len((await transport.request(Request("GET", _PATH, _ACCEPT))).body)

    yield ask
    await transport.close()


@asynccontextmanager
async def _in_memory(url: str) -> AsyncIterator[Ask]:  # noqa: ARG001 - needs no server
    transport = InMemoryTransport(_App(), clock=RealClock())

    async def ask() -> int:
        return len((await transport.request(Request("GET", _PATH, _ACCEPT))).body)

    yield ask
    await transport.close()


@asynccontextmanager
async def _aiohttp(url: str) -> AsyncIterator[Ask]:
    async with aiohttp.ClientSession(headers=_ACCEPT) as session:

        async def ask() -> int:
            async with session.get(url + _PATH) as response:
                return len(await response.read())

        yield ask


@asynccontextmanager
async def _httpx2(url: str) -> AsyncIterator[Ask]:
    async with httpx2.AsyncClient(headers=_ACCEPT) as client:

        async def ask() -> int:
            return len((await client.get(url + _PATH)).content)

        yield ask


_CLIENTS = {"ours": _ours, "aiohttp": _aiohttp, "httpx2": _httpx2, "ours, in memory with the app": _in_memory}


async def _load(ask: Ask, requests: int) -> None:
    async def worker() -> None:
        for _ in range(requests // _AT_A_TIME):
            assert await ask() == len(_BODY)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_A_TIME):
            tasks.create_task(worker())


async def _client_cost(ask: Ask) -> float:
    before = _cpu()
    await _load(ask, _REQUESTS)
    return (_cpu() - before) / _REQUESTS * 1e6


async def _server_cost(url: str) -> float:
    probe = connect(ClusterConfig(server=url), clock=RealClock())
    async with _ours(url) as ask:
        before = float((await probe.request(Request("GET", "/cpu"))).body)
        await _load(ask, _REQUESTS)
        after = float((await probe.request(Request("GET", "/cpu"))).body)
    await probe.close()
    return (after - before) / _REQUESTS * 1e6


@asynccontextmanager
async def _server(name: str) -> AsyncIterator[str]:
    process = subprocess.Popen(  # noqa: ASYNC220, S603 - this very file, started once
        [sys.executable, "-m", "bench.http", name], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


async def _measure() -> tuple[dict[str, float], dict[str, float]]:
    """Return the best of several rounds, in which the contenders take turns."""
    clients = dict.fromkeys(_CLIENTS, float("inf"))
    servers = dict.fromkeys(_SERVERS, float("inf"))
    async with _server("ours") as ours, _server("aiohttp.web") as theirs:
        for _ in range(_ROUNDS):
            for name, make in _CLIENTS.items():
                async with make(ours) as ask:
                    await _load(ask, _AT_A_TIME * 4)
                    clients[name] = min(clients[name], await _client_cost(ask))
            for name, url in (("ours", ours), ("aiohttp.web", theirs)):
                servers[name] = min(servers[name], await _server_cost(url))
    return clients, servers


def main() -> None:
    """Measure and print two tables."""
    for end, costs in zip(("client", "server"), uvloop.run(_measure()), strict=True):
        results = Results(f"http_{end}", f"An HTTP request, the {end}'s end, best of {_ROUNDS} rounds")
        for name, cost in costs.items():
            results.add(name, **{"CPU, µs a request": cost})
        results.show()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        uvloop.run(_SERVERS[sys.argv[1]]())
    else:
        main()
