"""`Journal`: brings every write to the disk, and tells when it is there.

Writes of one turn of the event loop make a batch. One batch is written at a time, by a thread; what is committed
meanwhile makes the next one, so the busier the server, the larger its batches.
"""

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from steersman.apiserver.journal.database import Database, Gone, Row
from steersman.apiserver.storage.history import Event
from steersman.errors import ConfigError

_log = logging.getLogger("steersman.apiserver")
Callback = Callable[[], None]


class Journal:
    """Writes events to a database.

    Invariant: a callback runs after everything that was committed before it is on the disk, and callbacks run in the
    order of their registration. When the disk fails, no such callback runs any more, but its counterpart for failures.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")
        #: What is to be written next: of each place, the last state.
        self._batch: dict[tuple[str, str, str], Event] = {}
        self._version = 0
        self._waiting: deque[tuple[Callback, Callback]] = deque()
        #: Resolved when the batch that is being written is on disk; ``None`` without one.
        self._under_way: deque[tuple[Callback, Callback]] | None = None
        self._is_scheduled = False
        #: Set when the disk failed: from then on nothing is promised.
        self.failure: ConfigError | None = None
        self._failed: asyncio.Event = asyncio.Event()

    def observe(self, event: Event) -> None:
        """Take a write into the next batch."""
        record = event.record
        assert record.version > self._version, "writes are observed in their order"  # noqa: S101 - or they get lost
        self._batch[event.resource, record.namespace, record.name] = event
        self._version = record.version
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._start)

    def when_durable(self, tell: Callback, otherwise: Callback) -> None:
        """Call back when all commits so far are on disk; at once if they already are."""
        if self.failure is not None:
            otherwise()
        elif self._batch:
            self._waiting.append((tell, otherwise))
        elif self._under_way is not None:
            self._under_way.append((tell, otherwise))
        else:
            tell()

    @property
    def is_idle(self) -> bool:
        """Whether everything that was committed is on the disk."""
        return not self._batch and self._under_way is None

    async def wait_failed(self) -> None:
        """Wait until the disk fails, which may be never, and raise why."""
        await self._failed.wait()
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        """Write what is left and close the file."""
        self._writer.shutdown(wait=True)
        if self._batch and self.failure is None:
            self._database.write(_changes(self._take()), self._version)
        self._database.close()

    def _take(self) -> dict[tuple[str, str, str], Event]:
        batch, self._batch = self._batch, {}
        return batch

    def _start(self) -> None:
        """Write the next batch, unless one is being written: then its end starts the next."""
        self._is_scheduled = False
        if self._under_way is not None or not self._batch or self.failure is not None:
            return
        self._under_way, self._waiting = self._waiting, deque()
        batch, version = self._take(), self._version
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._writer, self._write, batch, version)
        work.add_done_callback(self._finish)

    def _write(self, batch: dict[tuple[str, str, str], Event], version: int) -> None:
        self._database.write(_changes(batch), version)

    def _finish(self, work: asyncio.Future[None]) -> None:
        if work.cancelled():
            return  # the event loop ends, and with it all tasks that wait for the write
        error = work.exception()
        if error is not None:
            self._fail(error)
            return
        told = self._under_way
        # Callbacks that are registered meanwhile run after these: the order is kept.
        while told:
            told.popleft()[0]()
        self._under_way = None
        self._start()

    def _fail(self, error: BaseException) -> None:
        reason = str(error) if isinstance(error, (sqlite3.Error, OSError)) else repr(error)
        self.failure = ConfigError(f"the data cannot be written: {reason}")
        _log.error("the data cannot be written; nothing is accepted any more", extra={"reason": reason})
        self._failed.set()
        waiting = [*(self._under_way or ()), *self._waiting]
        self._under_way = None
        self._waiting.clear()
        for _, otherwise in waiting:
            otherwise()


def _changes(batch: dict[tuple[str, str, str], Event]) -> list[Row | Gone]:
    return [
        Gone(*place) if event.type == "DELETED" else Row.of(place[0], event.record) for place, event in batch.items()
    ]
