"""Live updates: what changed, as server-sent events, to any number of browsers.

A run is reported by the thread that ended it. It only marks the name of its object; on the event loop the marks become
one message to every client, at most `PERIOD` apart. So a busy operator costs a viewer a few messages a second, and a
viewer costs a busy operator the same.

Memory is bounded however slow a client is. At most `MOST_OBJECTS` objects are marked; if more change, clients are told
to ask for everything again. Messages that a client could not take are dropped, not kept: it is told to ask again once
it reads, and is cut off after `MOST_UNREAD` of them.

While no client is connected there is no listener and no timer.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any, Final

from msgspec import json

from steersman.clock import Clock, Timer
from steersman.history.records import LeadershipChange, ObjectName, Reconcile, WebhookCall
from steersman.history.state import Introspection
from steersman.protocol.http import Stream
from steersman.webview.documents import ChangedDocument, summary_of

#: Seconds between two messages about changes, and between two about the whole, which are also signs of life.
PERIOD: Final = 0.25
HEARTBEAT: Final = 2.0
#: Objects that one message names.
MOST_OBJECTS: Final = 50
#: Runs that one message holds: the newest.
MOST_RUNS: Final = 20
#: Messages that a client may leave unread before it is cut off.
MOST_UNREAD: Final = 20
#: Browsers at a time.
MOST_CLIENTS: Final = 32


class LiveUpdates:
    """Sends changes to the connected clients. All methods but the listener run on the event loop."""

    def __init__(self, source: Introspection, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        #: The connected clients, and how many messages in a row each could not take.
        self._clients: dict[Stream, int] = {}
        self._lock = Lock()
        self._changed: dict[ObjectName, None] = {}
        self._is_overflown = False
        self._runs: deque[Reconcile] = deque(maxlen=MOST_RUNS)
        self._end_listening: list[Callable[[], None]] = []
        self._timers: dict[str, Timer] = {}

    def __repr__(self) -> str:
        return f"<LiveUpdates clients={len(self._clients)}>"

    @property
    def is_full(self) -> bool:
        """Whether no further client is accepted."""
        return len(self._clients) >= MOST_CLIENTS

    def attach(self, stream: Stream) -> None:
        """Send updates to a client until it is gone, beginning with the state of the whole."""
        if not self._clients:
            self._start()
        self._clients[stream] = 0
        stream.on_close(lambda: self._detach(stream))
        stream.write(message("overview", self._source.overview()))

    def _detach(self, stream: Stream) -> None:
        if self._clients.pop(stream, None) is not None and not self._clients:
            self._stop()

    def _start(self) -> None:
        loop = asyncio.get_running_loop()

        def on_record(record: Reconcile | WebhookCall | LeadershipChange) -> None:
            # Another thread may end a run after the loop has closed; then no client is left either.
            if self._mark(record) and not loop.is_closed():
                loop.call_soon_threadsafe(self._schedule)

        history = self._source.history
        self._end_listening = [
            history.listen(on_record),
            history.listen(on_record, WebhookCall),
            history.listen(on_record, LeadershipChange),
        ]
        self._timers["heartbeat"] = self._clock.call_later(HEARTBEAT, self._beat)

    def _stop(self) -> None:
        for end in self._end_listening:
            end()
        self._end_listening = []
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._take()

    def _mark(self, record: Reconcile | WebhookCall | LeadershipChange) -> bool:
        """Mark what a record changes; return whether it is the first since the last message.

        A change of leadership is on the page of every object, so that clients ask for everything again.
        """
        name = None if isinstance(record, LeadershipChange) else record.object
        with self._lock:
            is_first = not self._changed and not self._is_overflown
            if isinstance(record, Reconcile):
                self._runs.append(record)
            if isinstance(record, LeadershipChange) or (
                len(self._changed) >= MOST_OBJECTS and name not in self._changed
            ):
                self._is_overflown = True
            elif name is not None:
                self._changed[name] = None
            return is_first

    def _take(self) -> tuple[list[ObjectName], list[Reconcile], bool]:
        with self._lock:
            taken = list(self._changed), list(self._runs), self._is_overflown
            self._changed.clear()
            self._runs.clear()
            self._is_overflown = False
            return taken

    def _schedule(self) -> None:
        if self._clients and "changes" not in self._timers:
            self._timers["changes"] = self._clock.call_later(PERIOD, self._send_changes)

    def _send_changes(self) -> None:
        self._timers.pop("changes", None)
        names, runs, is_overflown = self._take()
        if not (names or runs or is_overflown):
            return
        views = [] if is_overflown else [self._source.view(name) for name in names]
        self._send(
            message(
                "changed",
                ChangedDocument(
                    summaries=[summary_of(view) for view in views if view.exists],
                    gone=[view.object for view in views if not view.exists],
                    runs=runs[::-1],
                    reload=is_overflown,
                ),
            )
        )

    def _beat(self) -> None:
        self._timers["heartbeat"] = self._clock.call_later(HEARTBEAT, self._beat)
        self._send(message("overview", self._source.overview()))

    def _send(self, data: bytes) -> None:
        for stream, unread in list(self._clients.items()):
            if stream.is_writable:
                self._clients[stream] = 0
                stream.write(_RELOAD + data if unread else data)
            elif unread + 1 >= MOST_UNREAD:
                stream.abort()
                self._detach(stream)
            else:
                self._clients[stream] = unread + 1


def message(event: str, document: Any) -> bytes:
    """Return one server-sent event."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), json.encode(document))


_RELOAD: Final = message("changed", ChangedDocument(reload=True))
