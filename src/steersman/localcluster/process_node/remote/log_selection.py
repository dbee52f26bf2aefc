"""Which part of a log is asked for, and how it is printed. Pure."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from steersman.localcluster.process_node.containers.container_log import Entry


@dataclass(slots=True, kw_only=True)
class LogSelection:
    """The part of a log that a client requested."""

    tail: int | None = None
    since: datetime | None = None
    limit: int | None = None
    timestamps: bool = False
    #: ``Stdout`` or ``Stderr`` for one of them only.
    stream: str = "All"
    _sent: int = 0
    _is_inside: bool = False

    def begin(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the existing entries to send."""
        wanted = [entry for entry in entries if self.is_wanted(entry)]
        if self.tail is None:
            return wanted
        if self.tail == 0:
            return []
        lines: deque[list[Entry]] = deque(_lines(wanted), maxlen=self.tail)
        return [entry for line in lines for entry in line]

    def is_wanted(self, entry: Entry) -> bool:
        """Return whether an entry is recent enough and of the right stream."""
        is_recent = self.since is None or entry.time >= self.since
        return is_recent and self.stream in ("All", entry.stream.capitalize())

    def encode(self, entry: Entry) -> bytes:
        """Return an entry as bytes, within the limit; pieces of a line are joined."""
        time = b""
        if self.timestamps and not self._is_inside:
            time = f"{entry.time.isoformat(timespec='microseconds').removesuffix('+00:00')}000Z ".encode()
        self._is_inside = not entry.is_whole
        text = time + entry.text + (b"\n" if entry.is_whole else b"")
        if self.limit is not None:
            text = text[: max(self.limit - self._sent, 0)]
        self._sent += len(text)
        return text

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return self.limit is not None and self._sent >= self.limit


def _lines(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Yield the pieces of each line."""
    pieces: list[Entry] = []
    for entry in entries:
        pieces.append(entry)
        if entry.is_whole:
            yield pieces
            pieces = []
    if pieces:
        yield pieces
