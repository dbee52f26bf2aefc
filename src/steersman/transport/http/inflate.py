"""Decompresses gzip bodies piece by piece, so that a small answer cannot become an unbounded one."""

import zlib

from steersman.errors import BadAnswer

#: zlib's number for "gzip header and trailer, largest window".
_GZIP = 31


class Inflater:
    """Gzip in, plain bytes out, never more at a time than asked for."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        #: Compressed bytes beyond the last limit.
        self._left = b""

    def inflate(self, data: bytes, limit: int) -> bytes:
        """Decompress bytes into at most ``limit`` plain ones; call again with ``b""`` until it returns none."""
        data = self._left + data if self._left else data
        try:
            while True:
                plain = self._member.decompress(data, limit)
                data = self._member.unconsumed_tail or self._member.unused_data
                if self._member.eof and data:  # gzip bodies may be several members in a row
                    self._member = zlib.decompressobj(_GZIP)
                if plain or not data:
                    self._left = data
                    return plain
        except zlib.error as error:
            raise BadAnswer(f"the response is not valid gzip: {error}") from None

    def finish(self) -> None:
        """Reject a body that ended too early."""
        if not self._member.eof:
            raise BadAnswer("the compressed response is truncated")
