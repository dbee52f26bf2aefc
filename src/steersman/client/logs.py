"""The log of a container, line by line."""

from collections.abc import AsyncIterator
from http import HTTPStatus

from steersman.client.session import Session, Target
from steersman.protocol.http import Response
from steersman.protocol.options import LogOptions
from steersman.protocol.responses import error_of
from steersman.transport.base import DEFAULT_IDLE

#: Bytes of one line; a longer one is split.
MAX_LINE = 1024 * 1024


async def log_lines(session: Session, target: Target, options: LogOptions) -> AsyncIterator[str]:
    """Yield lines without line ends; bytes that are not UTF-8 are replaced."""
    requests, key = await session.locate(target)
    # A container may log nothing for any time.
    idle = None if options.follow else DEFAULT_IDLE
    rest = b""
    async with session.transport.stream(requests.log(key, options), idle=idle) as stream:
        if stream.status != HTTPStatus.OK:
            raise error_of(Response(stream.status, stream.headers, await stream.read()))
        async for chunk in stream:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield _text(line)
            if len(rest) > MAX_LINE:
                yield _text(rest)
                rest = b""
    if rest:
        yield _text(rest)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")
