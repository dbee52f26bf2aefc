"""A small provider of networks to try the operator with, with configurable failures.

    $ python -m network.neutron --port 9696 --data networks.json --latency 0.5 --errors 3

``GET /v2.0/networks[?uid=]``, ``POST /v2.0/networks`` (with an Idempotency-Key: two requests create one),
``PUT`` and ``DELETE /v2.0/networks/ID``.
"""

import argparse
import asyncio
import ipaddress
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from steersman.clock import Clock, RealClock
from steersman.errors import DecodeError
from steersman.objects import decode_as, encode_json
from steersman.protocol import Exchange, Request, Response
from steersman.serving import Listen, Server

from network.provider import Wanted

_PATH = "/v2.0/networks"
_DONE = range(200, 300)
#: Networks smaller than this are not offered.
_LONGEST_PREFIX = {4: 29, 6: 64}


@dataclass(kw_only=True)
class Neutron:
    """The provider, as an application that can be served on a port or used in a test."""

    clock: Clock
    #: File that keeps the networks over restarts.
    data: Path | None = None
    #: Committed networks, keyed by id, whether or not the response arrived.
    networks: dict[str, dict[str, str]] = field(default_factory=dict)
    #: Every request, such as ``POST /v2.0/networks``.
    calls: list[str] = field(default_factory=list)
    #: Seconds that every response takes.
    latency: float = 0.0
    #: Number of the next requests that fail with a 500 before anything is done.
    errors: int = 0
    #: Number of the next writes that are committed without a response: ``crash`` is called instead.
    crash_after_commit: int = 0
    crash: Callable[[Exchange], None] = lambda exchange: exchange.reset()

    def __post_init__(self) -> None:
        """Read the networks from the file."""
        if self.data is not None and self.data.exists():
            self.networks = json.loads(self.data.read_text(encoding="utf-8"))

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Respond, at once or after the latency."""
        if self.latency <= 0:
            self._respond(request, exchange)
            return None
        return self._respond_late(request, exchange)

    async def _respond_late(self, request: Request, exchange: Exchange) -> None:
        await self.clock.sleep(self.latency)
        self._respond(request, exchange)

    def _respond(self, request: Request, exchange: Exchange) -> None:
        self.calls.append(f"{request.method} {request.target.partition('?')[0]}")
        if self.errors > 0:
            self.errors -= 1
            exchange.respond(_text(500, "internal error"))
            return
        response = self._execute(request)
        if request.method != "GET" and response.status in _DONE and self.crash_after_commit > 0:
            self.crash_after_commit -= 1
            self.crash(exchange)
            return
        exchange.respond(response)

    def _execute(self, request: Request) -> Response:
        parts = urlsplit(request.target)
        name = parts.path.removeprefix(_PATH).strip("/")
        if not parts.path.startswith(_PATH):
            return _text(404, f"{parts.path} not found")
        match request.method:
            case "GET" if not name:
                uids = parse_qs(parts.query).get("uid")
                found = [one for one in self.networks.values() if uids is None or one["uid"] in uids]
                return _json(200, {"networks": found})
            case "POST" if not name:
                return self._create(request)
            case "PUT" if name in self.networks:
                return self._write(request, name, 200)
            case "DELETE" if name in self.networks:
                del self.networks[name]
                self._commit()
                return Response(204)
            case _:
                return _text(404, f"network {name} not found")

    def _create(self, request: Request) -> Response:
        key = request.headers.get("idempotency-key", "")
        made = next((one for one in self.networks.values() if key and one["uid"] == key), None)
        if made is not None:
            return _json(200, made)
        names = (f"net-{number}" for number in count(1))
        return self._write(request, next(name for name in names if name not in self.networks), 201)

    def _write(self, request: Request, name: str, status: int) -> Response:
        try:
            wanted = decode_as(Wanted, request.body)
            network = ipaddress.ip_network(wanted.cidr, strict=False)
        except (DecodeError, ValueError) as error:
            return _text(400, str(error))
        longest = _LONGEST_PREFIX[network.version]
        if network.prefixlen > longest:
            return _text(422, f"{wanted.cidr} is too small: the smallest network is /{longest}")
        self.networks[name] = {"id": name, "uid": wanted.uid, "cidr": wanted.cidr, "gateway": wanted.gateway}
        self._commit()
        return _json(status, self.networks[name])

    def _commit(self) -> None:
        if self.data is not None:
            fresh = self.data.with_suffix(".new")
            fresh.write_text(json.dumps(self.networks, indent=2), encoding="utf-8")
            fresh.replace(self.data)


def _text(status: int, message: str) -> Response:
    return Response(status, [("content-type", "text/plain; charset=utf-8")], message.encode() + b"\n")


def _json(status: int, document: object) -> Response:
    return Response(status, [("content-type", "application/json")], encode_json(document))


async def _serve(options: argparse.Namespace) -> None:
    clock = RealClock()
    neutron = Neutron(
        clock=clock,
        data=options.data,
        latency=options.latency,
        errors=options.errors,
        crash_after_commit=options.crash_after_commit,
        crash=lambda _: os._exit(1),
    )
    async with Server(neutron, clock=clock, listen=Listen(host=options.host, port=options.port)) as server:
        sys.stdout.write(f"networks at {server.url}{_PATH}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().create_future()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m network.neutron", description="A provider of networks.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 in a pod")
    parser.add_argument("--port", type=int, default=9696)
    parser.add_argument("--data", type=Path, help="file that keeps the networks")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that every response takes")
    parser.add_argument("--errors", type=int, default=0, help="number of requests that fail with a 500")
    parser.add_argument("--crash-after-commit", type=int, default=0, help="crash after so many writes")
    try:
        asyncio.run(_serve(parser.parse_args()))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
