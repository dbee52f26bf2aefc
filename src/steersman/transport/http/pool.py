"""Which connection carries the next request: bookkeeping only, nothing here opens, writes or waits."""

import asyncio
from collections import deque

from steersman.transport.http.connection import Connection


class Pool:
    """Idle connections, slots for new ones, and the requests that wait for either, first come first served."""

    def __init__(self, places: int) -> None:
        self._places = places
        #: Most recently used last: it is the one least likely to be stale.
        self._idle: list[Connection] = []
        #: Invariant: len(members) + opening <= places, and idle ⊆ members.
        self._members: set[Connection] = set()
        self._opening = 0
        #: Resolved with a connection, or with ``None`` for a slot that is reserved for the waiter.
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()

    def __repr__(self) -> str:
        return (
            f"<Pool idle={len(self._idle)} busy={len(self._members) - len(self._idle)} "
            f"opening={self._opening} waiting={len(self._waiting)}>"
        )

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._members

    def take(self) -> Connection | None:
        """Return an idle connection, the freshest first."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
            self._members.discard(connection)
        return None

    def reserve(self) -> bool:
        """Reserve a slot for a connection about to be opened; return whether there was one."""
        if len(self._members) + self._opening >= self._places:
            return False
        self._opening += 1
        return True

    def join(self, connection: Connection) -> None:
        """Put a connection into a reserved slot."""
        self._opening -= 1
        self._members.add(connection)

    def cancel_place(self) -> None:
        """Return a reserved place up."""
        self._opening -= 1
        self._offer_place()

    def wait_in_line(self, waiter: "asyncio.Future[Connection | None]") -> None:
        """Queue for a connection or a slot."""
        self._waiting.append(waiter)

    def leave_line(self, waiter: "asyncio.Future[Connection | None]") -> Connection | None:
        """Stop waiting; return what was handed over at the same time, which must be released again."""
        if not waiter.done() or waiter.cancelled():
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            return None
        connection = waiter.result()
        if connection is None:
            self.cancel_place()
        return connection

    def give_back(self, connection: Connection) -> bool:
        """Return a connection to the pool; return whether it is idle now, rather than handed to a waiter."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return False
        self._idle.append(connection)
        return True

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection, whether it was a member or not."""
        if connection in self._members:
            self._members.remove(connection)
            if connection in self._idle:
                self._idle.remove(connection)
            self._offer_place()

    def drain(self) -> list[Connection]:
        """Remove and return all idle connections, to be closed."""
        connections, self._idle = self._idle, []
        return connections

    def retire(self) -> list[Connection]:
        """Remove all connections: return the idle ones to be closed; the others end with their exchange."""
        self._members.clear()
        idle = self.drain()
        self._offer_place()
        return idle

    def _offer_place(self) -> None:
        while self._waiting and len(self._members) + self._opening < self._places:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._opening += 1
                waiter.set_result(None)
