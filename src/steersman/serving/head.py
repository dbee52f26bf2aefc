"""The head of an answer as bytes."""

from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus

from steersman.clock import Clock

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
#: Headers about the framing of the bytes, which only the server knows.
_RESERVED = frozenset({"connection", "content-length", "date", "transfer-encoding"})
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class DateHeader:
    """The ``date`` line, written once a second."""

    __slots__ = ("_clock", "_line", "_second")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = -1
        self._line = ""

    def line(self) -> str:
        """Return the line for now."""
        second = int(self._clock.monotonic())
        if second != self._second:
            self._second = second
            now = self._clock.now()
            self._line = (
                f"date: {_DAYS[now.weekday()]}, {now.day:02} {_MONTHS[now.month - 1]} {now.year} {now:%H:%M:%S} GMT\r\n"
            )
        return self._line


def encode_head(status: int, headers: Sequence[tuple[str, str]], framing: str) -> bytes:
    """Return the bytes of a head; ``framing`` are the server's own lines. Line breaks inside a header are rejected."""
    line = _STATUS_LINES.get(status) or _status_line(status)
    return f"{line}{framing}{_lines(tuple(headers))}\r\n".encode()


# Most answers of a server have the same few headers.
@lru_cache(maxsize=256)
def _lines(headers: tuple[tuple[str, str], ...]) -> str:
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    if not len(headers) == lines.count("\n") == lines.count("\r"):
        raise ValueError("a header of the response contains a line break")
    for name, _ in headers:
        if name in _RESERVED:
            raise ValueError(f"header {name} is set by the server")
    return lines


def _status_line(status: int) -> str:
    """Return the first line of an answer with a status that has no name."""
    if not 200 <= status <= 999:  # noqa: PLR2004 - what HTTP calls a final status
        raise ValueError(f"not an HTTP status: {status}")
    return f"HTTP/1.1 {status} \r\n"
