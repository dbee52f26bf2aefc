"""Receive the data of a server as a replica does: ``SYNC``, a length, and that many bytes of an RDB file."""

import asyncio
from collections.abc import AsyncIterator

from redisfailover.observation import Address

#: Seconds to wait for the next bytes. A server first saves its data, and sends newlines meanwhile.
_TIMEOUT = 30.0
_PIECE = 1 << 16


async def receive_snapshot(source: Address, password: str) -> AsyncIterator[bytes]:
    """Yield the bytes of a snapshot; raise ``OSError``, ``EOFError`` or ``ValueError`` if it is incomplete."""
    async with asyncio.timeout(_TIMEOUT):
        reader, writer = await asyncio.open_connection(source.host, source.port)
    try:
        if password:
            writer.write(_command("AUTH", password))
            await _answer(reader)
        writer.write(_command("SYNC"))
        left = _length(await _answer(reader))
        while left:
            async with asyncio.timeout(_TIMEOUT):
                piece = await reader.read(min(left, _PIECE))
            if not piece:
                raise EOFError(f"the connection ended {left} bytes too early")
            left -= len(piece)
            yield piece
    finally:
        writer.close()


def _command(*words: str) -> bytes:
    parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
    return f"*{len(words)}\r\n{''.join(parts)}".encode()


async def _answer(reader: asyncio.StreamReader) -> bytes:
    """Return the next line that is not empty: empty lines keep the connection alive."""
    line = b"\n"
    while line == b"\n":
        async with asyncio.timeout(_TIMEOUT):
            line = await reader.readline()
    if not line or line.startswith(b"-"):
        raise ValueError(line.decode(errors="replace").strip() or "the connection ended")
    return line.strip()


def _length(line: bytes) -> int:
    if not line.startswith(b"$") or not line[1:].isdigit():
        raise ValueError(f"expected the length of a snapshot, got {line!r}")
    return int(line[1:])
