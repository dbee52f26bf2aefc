"""`EventExpiry`: an Event is forgotten a while after it was last written."""

from steersman.apiserver.background.hand import Place, place_of
from steersman.apiserver.resources.object_store import Ledger
from steersman.apiserver.resources.served import Served
from steersman.apiserver.storage.history import Event
from steersman.clock import Clock, Deadline

#: How long an Event is kept, in seconds.
EVENT_SECONDS = 3600.0
_EVENTS = "events"


class EventExpiry:
    """Removes Events whose time has come. All live equally long, so they expire in the order of their last writes."""

    def __init__(self, ledger: Ledger, served: Served, clock: Clock) -> None:
        self._ledger = ledger
        self._served = served
        self._clock = clock
        #: When each Event expires, the first one first.
        self._due: dict[Place, float] = {}
        self._alarm = Deadline(clock, self._expire)

    def begin(self) -> None:
        """Give every Event that is there its full time."""
        self._due.clear()
        self._alarm.cancel()
        for record in self._ledger.records_of(_EVENTS):
            self._note(Place(_EVENTS, record.namespace, record.name))

    def observe(self, event: Event) -> None:
        """Take note of a write."""
        if event.resource != _EVENTS:
            return
        place = place_of(event)
        self._due.pop(place, None)
        if event.type != "DELETED":
            self._note(place)

    def _note(self, place: Place) -> None:
        due = self._clock.monotonic() + EVENT_SECONDS
        self._due[place] = due
        if len(self._due) == 1:
            self._alarm.set_at(due)

    def _expire(self) -> None:
        now = self._clock.monotonic()
        while self._due:
            place, due = next(iter(self._due.items()))
            if due > now:
                self._alarm.set_at(due)
                return
            del self._due[place]
            record = self._ledger.get(self._served, place.namespace, place.name)
            if record is not None:
                self._ledger.remove(self._served, record)
