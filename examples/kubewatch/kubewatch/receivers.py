"""Receivers to try the operator with: each records what it received, and can be made to fail.

    $ python -m kubewatch.receivers --port 8080

prints everything that is posted to it.
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from steersman.clock import RealClock
from steersman.objects import decode_json
from steersman.protocol import Exchange, Request, Response
from steersman.serving import Listen, Server

_OK = 200


class Hook:
    """A webhook."""

    def __init__(self) -> None:
        """Create it with nothing received."""
        self.requests: list[Request] = []
        #: Status codes of the next responses; afterwards 200.
        self.answers: list[int] = []
        self.body = b'{"ok":true}'
        self.on_message: Callable[[bytes], None] = lambda _: None

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Accept a request, or respond with the next status code."""
        status = self.answers.pop(0) if self.answers else _OK
        if status == _OK:
            self.requests.append(request)
            self.on_message(request.body)
        exchange.respond(Response(status, [("content-type", "application/json")], self.body))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The received messages."""
        return [decode_json(request.body) for request in self.requests]

    @property
    def texts(self) -> list[str]:
        """The texts of the received messages."""
        return [message["text"] for message in self.messages]


class MailServer:
    """A mail server with configurable responses that implements only what a client needs."""

    def __init__(self) -> None:
        """Create it with nothing received."""
        self.mails: list[str] = []
        #: Responses to the next attempts to send; afterwards mails are accepted.
        self.refusals: list[str] = []
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve on a free port for the duration of the block."""
        async with await asyncio.start_server(self._talk, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            command = line[:4].upper()
            if command == b"MAIL" and self.refusals:
                writer.write(f"{self.refusals.pop(0)}\r\n".encode())
            elif command == b"DATA":
                writer.write(b"354 go on\r\n")
                self.mails.append((await reader.readuntil(b"\r\n.\r\n")).decode())
                writer.write(b"250 taken\r\n")
            elif command == b"QUIT":
                writer.write(b"221 bye\r\n")
                break
            else:
                writer.write(b"250 fine\r\n")
        await writer.drain()
        writer.close()


async def _serve(port: int) -> None:
    def show(message: bytes) -> None:
        sys.stdout.write(message.decode("utf-8", "replace") + "\n")
        sys.stdout.flush()

    hook = Hook()
    hook.on_message = show
    async with Server(hook, clock=RealClock(), listen=Listen(port=port)) as server:
        show(f"listening at {server.url}".encode())
        await asyncio.get_running_loop().create_future()


def main() -> None:
    """Listen until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m kubewatch.receivers", description="Print posted requests.")
    parser.add_argument("--port", type=int, default=8080)
    try:
        asyncio.run(_serve(parser.parse_args().port))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
