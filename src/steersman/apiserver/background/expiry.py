"""`EventExpiry`: deletes Events an hour after their last write."""

from steersman.apiserver.background.internal_client import Place, place_of
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.storage.history import Event
from steersman.clock import Clock, Deadline

#: How long an Event is kept, in seconds.
EVENT_SECONDS = 3600.0
_EVENTS = "events"


class EventExpiry:
    """Deletes expired Events. All live equally long, so they expire in the order of their last writes."""

    def __init__(self, objects: ObjectStore, served: ServedResource, clock: Clock) -> None:
        self._objects = objects
        self._served = served
        self._clock = clock
        #: When each Event expires, soonest first.
        self._due: dict[Place, float] = {}
        self._alarm = Deadline(clock, self._expire)

    def start(self) -> None:
        """Start the full lifetime of every existing Event."""
        self._due.clear()
        self._alarm.cancel()
        for record in self._objects.records_of(_EVENTS):
            self._note(Place(_EVENTS, record.namespace, record.name))

    def observe(self, event: Event) -> None:
        """Note a write."""
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
            record = self._objects.get(self._served, place.namespace, place.name)
            if record is not None:
                self._objects.remove(self._served, record)
