"""Run a command inside a container, as `kubectl exec` does, over a WebSocket."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from steersman.client.session import Session, Target
from steersman.concurrency import background
from steersman.errors import BadAnswer, ConnectionLost, DecodeError, InternalError
from steersman.protocol.http import Response, Upgraded
from steersman.protocol.options import ExecOptions
from steersman.protocol.remote.remote_command import PROTOCOLS, Channel, end_of_input, message, read_end
from steersman.protocol.remote.websocket import WebSocket, request_headers
from steersman.protocol.responses import error_of

_CHUNK = 32 * 1024
#: Maximum bytes that a command may write.
MAX_OUTPUT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExecResult:
    """Exit code and output of a command."""

    exit_code: int
    stdout: bytes = field(default=b"", repr=False)
    stderr: bytes = field(default=b"", repr=False)


async def execute(
    session: Session, target: Target, command: Sequence[str], *, container: str, stdin: bytes | None
) -> ExecResult:
    """Run a command to its end; raise ``InternalError`` if it cannot be run."""
    requests, key = await session.locate(target)
    options = ExecOptions(command=tuple(command), container=container, stdin=stdin is not None)
    request = requests.execute(key, options)
    request.headers |= request_headers(secrets.token_bytes(16), PROTOCOLS)
    async with session.transport.upgrade(request, protocol="websocket") as answer:
        if isinstance(answer, Response):
            raise error_of(answer)
        return await _converse(answer, stdin)


async def _converse(raw: Upgraded, stdin: bytes | None) -> ExecResult:
    socket = WebSocket(raw, is_client=True)
    # A command may write before it has read everything: sending and receiving must not wait for each other.
    async with background(_send(socket, stdin), name="exec/stdin"):
        return await _listen(socket)


async def _send(socket: WebSocket, stdin: bytes | None) -> None:
    if stdin is None:
        return
    for start in range(0, len(stdin), _CHUNK):
        socket.send(message(Channel.STDIN, stdin[start : start + _CHUNK]))
        await socket.drain()
    socket.send(end_of_input())


async def _listen(socket: WebSocket) -> ExecResult:
    written = {Channel.STDOUT: bytearray(), Channel.STDERR: bytearray(), Channel.ERROR: bytearray()}
    try:
        while (received := await socket.receive()) is not None:
            if received and received[0] in written:
                written[Channel(received[0])] += received[1:]
            if sum(map(len, written.values())) > MAX_OUTPUT:
                raise BadAnswer(f"the command wrote more than {MAX_OUTPUT} bytes")
    except DecodeError as error:
        raise BadAnswer(str(error)) from None
    if not written[Channel.ERROR]:
        raise ConnectionLost("the connection was lost before the command ended")
    code, text = read_end(bytes(written[Channel.ERROR]))
    if code is None:
        raise InternalError(text, code=500, reason="InternalError")
    return ExecResult(code, bytes(written[Channel.STDOUT]), bytes(written[Channel.STDERR]))
