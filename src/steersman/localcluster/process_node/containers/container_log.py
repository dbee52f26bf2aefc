"""The log of one run of a container: lines with their time and stream, in a file that stays small."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from steersman.objects.times import MicroTime, parse_time

#: Bytes of a file before it is moved aside; there is one such file beside the current one.
FILE_BYTES = 10 * 1024 * 1024
#: A longer line is stored in pieces.
_LINE = 16 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a log, or a piece of one."""

    time: datetime
    #: ``stdout`` or ``stderr``.
    stream: str
    text: bytes = field(repr=False)
    #: Whether the line ends here.
    is_whole: bool = True

    def encode(self) -> bytes:
        """Return the line in its stored form: time, stream, F or P, text."""
        mark = b"F" if self.is_whole else b"P"
        return b"%b %b %b %b\n" % (str(MicroTime.of(self.time)).encode(), self.stream.encode(), mark, self.text)

    @classmethod
    def decode(cls, line: bytes) -> "Entry | None":
        """Parse a stored line; ``None`` if it was cut off when this program ended."""
        time, stream, mark, text, *_ = (*line.split(b" ", 3), b"", b"", b"")
        try:
            return cls(parse_time(time.decode()), stream.decode(), text, is_whole=mark == b"F")
        except ValueError:
            return None


class ContainerLog:
    """Written by one run of a container; read by any number, also after it."""

    def __init__(self, path: Path, *, file_bytes: int = FILE_BYTES) -> None:
        self._path = path
        self._file_bytes = file_bytes
        #: What came of each stream since its last line end.
        self._rest: dict[str, bytes] = {}
        self._followers: list[Callable[[Entry | None], None]] = []
        self._file = path.open("ab")
        self._size = self._file.tell()
        self.is_closed = False

    def write(self, stream: str, data: bytes, now: datetime) -> None:
        """Append output of a process."""
        *lines, rest = (self._rest.pop(stream, b"") + data).split(b"\n")
        for line in lines:
            self._pieces(stream, line, now, is_whole=True)
        while len(rest) > _LINE:
            self._append(Entry(now, stream, rest[:_LINE], is_whole=False))
            rest = rest[_LINE:]
        self._rest[stream] = rest
        self._file.flush()

    def close(self, now: datetime) -> None:
        """End the log: nothing more will be written."""
        if self.is_closed:
            return
        for stream, rest in self._rest.items():
            if rest:
                self._append(Entry(now, stream, rest))
        self.is_closed = True
        self._file.close()
        for follower in self._followers:
            follower(None)
        self._followers.clear()

    def follow(self, follower: Callable[[Entry | None], None]) -> Callable[[], None]:
        """Call back for every entry from now on, and with ``None`` at the end; return a function that stops it."""
        if self.is_closed:
            follower(None)
            return lambda: None
        self._followers.append(follower)
        return lambda: self._followers.remove(follower) if follower in self._followers else None

    def _pieces(self, stream: str, line: bytes, now: datetime, *, is_whole: bool) -> None:
        while len(line) > _LINE:
            self._append(Entry(now, stream, line[:_LINE], is_whole=False))
            line = line[_LINE:]
        self._append(Entry(now, stream, line, is_whole=is_whole))

    def _append(self, entry: Entry) -> None:
        line = entry.encode()
        if self._size and self._size + len(line) > self._file_bytes:
            self._file.close()
            self._path.replace(_aside(self._path))
            self._file = self._path.open("ab")
            self._size = 0
        self._file.write(line)
        self._size += len(line)
        for follower in list(self._followers):
            follower(entry)


def read_log(path: Path) -> Iterator[Entry]:
    """Yield the stored entries of a log, oldest first; nothing if there is none."""
    for part in (_aside(path), path):
        if part.exists():
            with part.open("rb") as file:
                for line in file:
                    entry = Entry.decode(line.rstrip(b"\n"))
                    if entry is not None:
                        yield entry


def remove_log(path: Path) -> None:
    """Remove a log."""
    for part in (_aside(path), path):
        part.unlink(missing_ok=True)


def _aside(path: Path) -> Path:
    return path.with_name(path.name + ".1")
