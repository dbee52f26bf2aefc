"""`SimulatedPods`: what pods of the simulated node answer: every command succeeds at once and prints nothing.

Operators run commands in the pods that they manage, such as one that enables a feature of a database. There is no
database here, so the best that can be done is to let them go on.
"""

from collections.abc import Awaitable

from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.status import Refusal, bad_request
from steersman.json_types import JsonObject
from steersman.protocol.http import Exchange, Response, Upgraded
from steersman.protocol.remote.remote_command import PROTOCOLS, Channel, ended, message
from steersman.protocol.remote.spdy import GoingAway, Opened, Ping, SpdyConnection
from steersman.protocol.remote.websocket import WebSocket, accept_headers, is_websocket, offered_protocols

_SPDY = "SPDY/3.1"
_VERSION_HEADER = "x-stream-protocol-version"
_STREAMS = ("stdin", "stdout", "stderr")


class SimulatedPods:
    """Serves commands in pods and their logs; a `PodServer`."""

    def handle(self, part: str, pod: JsonObject, request: ApiRequest, exchange: Exchange) -> Awaitable[None] | None:
        """Answer a request to a part of a pod."""
        del pod
        if part == "log":
            exchange.respond(Response(200, [("content-type", "text/plain")], b""))
            return None
        if part != "exec":
            raise Refusal(501, "NotImplemented", f"pods of a simulated node have no {part}")
        headers = request.http.headers
        if is_websocket(headers):
            return _succeed_over_websocket(headers, exchange)
        if headers.get("upgrade", "").upper() != _SPDY:
            raise bad_request("Upgrade request required")
        # The error stream, on which the exit status is sent, is always there.
        count = 1 + sum(request.query.flag(name) for name in _STREAMS)
        return _succeed_over_spdy(headers, exchange, count)


async def _succeed_over_websocket(headers: dict[str, str], exchange: Exchange) -> None:
    offered = offered_protocols(headers)
    spoken = next((protocol for protocol in PROTOCOLS if protocol in offered), None)
    if spoken is None:
        raise bad_request(f"none of the protocols {offered} is spoken here: offer {', '.join(PROTOCOLS)}")
    socket = WebSocket(exchange.upgrade(accept_headers(headers, spoken)), is_client=False)
    socket.send(message(Channel.ERROR, ended(0)))
    socket.close()


async def _succeed_over_spdy(headers: dict[str, str], exchange: Exchange, count: int) -> None:
    offered = [text.strip() for text in headers.get(_VERSION_HEADER, "").split(",")]
    version = "v4.channel.k8s.io"
    if version not in offered:
        raise bad_request(f"none of the protocols {offered} is spoken here: offer {version}")
    upgraded = exchange.upgrade([("upgrade", _SPDY), (_VERSION_HEADER, version)])
    await answer_streams(upgraded, SpdyConnection(), count)
    upgraded.close()


async def answer_streams(upgraded: Upgraded, spdy: SpdyConnection, count: int) -> None:
    """Accept the streams of the client, send the exit status when all are open, and wait until the client is gone."""
    streams: dict[int, str] = {}
    while data := await upgraded.receive():
        for frame in spdy.receive(data):
            match frame:
                case Opened(stream, headers):
                    streams[stream] = headers.get("streamtype", "")
                    upgraded.write(spdy.accept(stream))
                    if len(streams) == count:
                        _end(upgraded, spdy, streams)
                case Ping(number):
                    upgraded.write(spdy.ping(number))
                case GoingAway():
                    return
                case _:
                    pass


def _end(upgraded: Upgraded, spdy: SpdyConnection, streams: dict[int, str]) -> None:
    for stream, kind in streams.items():
        if kind != "stdin":
            upgraded.write(spdy.data(stream, ended(0) if kind == "error" else b"", is_end=True))
