"""Sends a container's log to a client, and follows it while it is written."""

import asyncio
from collections import deque
from pathlib import Path

from steersman.localcluster.process_node.containers.container_log import ContainerLog, Entry, read_log
from steersman.localcluster.process_node.remote.log_selection import LogSelection
from steersman.protocol.http import Exchange

#: Lines that may wait for a slow reader before it is cut off.
_MOST_WAITING = 100_000
_HEADERS = [("content-type", "text/plain"), ("cache-control", "no-cache, private")]


class LogStream:
    """One answer to a question for a log."""

    def __init__(self, exchange: Exchange, selection: LogSelection) -> None:
        self._stream = exchange.stream(200, _HEADERS)
        self._selection = selection
        self._waiting: deque[Entry | None] = deque()
        self._news = asyncio.Event()
        self._stream.on_writable(self._news.set)
        self._stream.on_close(self._news.set)

    async def run(self, path: Path, live: ContainerLog | None) -> None:
        """Send the existing log, then new lines while it is being written."""
        # The event loop does not run in between, so no line is missed or sent twice.
        self._waiting.extend(self._selection.begin(read_log(path)))
        forget = None if live is None else live.follow(self._take)
        if forget is None:
            self._waiting.append(None)
        try:
            while await self._send():
                self._news.clear()
                await self._news.wait()
        finally:
            if forget is not None:
                forget()
            self._stream.close()

    def _take(self, entry: Entry | None) -> None:
        if entry is None or self._selection.is_wanted(entry):
            self._waiting.append(entry)
            self._news.set()
        if len(self._waiting) > _MOST_WAITING:
            self._stream.abort()

    async def _send(self) -> bool:
        """Send what the reader can take now; return whether there will be more."""
        while self._waiting and self._stream.is_writable:
            entry = self._waiting.popleft()
            if entry is None:
                return False
            self._stream.write(self._selection.encode(entry))
            if self._selection.is_full:
                return False
        return self._stream.is_open
