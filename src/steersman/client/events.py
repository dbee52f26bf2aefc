"""`EventRecorder`: records Kubernetes events (``events.k8s.io/v1``) about objects.

Recording never waits and never raises: an event that cannot be written is dropped, because a reconcile must not fail or
wait for it.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from datetime import datetime
from zlib import crc32

from steersman.client.event_correlator import (
    Create,
    EventCorrelator,
    EventType,
    Extend,
    RecordedEvent,
    Regarding,
    Write,
)
from steersman.client.interfaces import Writer
from steersman.clock import Clock
from steersman.errors import (
    AlreadyExists,
    InternalError,
    NotFound,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    TransportError,
)
from steersman.kinds.core_v1 import ObjectReference
from steersman.kinds.events_v1 import Event, EventSeries
from steersman.objects.meta import ObjectMeta
from steersman.objects.resource import KubeObject, Unstructured, gvk_of
from steersman.objects.times import MicroTime

_log = logging.getLogger("steersman.events")

#: Maximum number of waiting writes; more are dropped.
QUEUE = 1000
#: Attempts of a write while the server is unavailable, and seconds in between.
TRIES, RETRY_SECONDS = 12, 10.0
#: Seconds between checks for series that have ended.
TICK_SECONDS = 60.0
#: Number of event names that are remembered, to extend their series.
_NAMES = 4096
#: The longest name of an object.
_MAX_NAME = 253

#: Errors that may pass. Any other would be the same in a retry.
_TRANSIENT = (TransportError, TooManyRequests, ServiceUnavailable, InternalError, Timeout, ServerTimeout)


class EventRecorder:
    """Record events about objects for one controller. ``run`` sends them: start it next to the controller.

    ``instance`` identifies the replica of the controller, usually by the name of its pod.
    """

    def __init__(self, writer: Writer, *, controller: str, instance: str, clock: Clock) -> None:
        self._writer = writer
        self._controller = controller
        self._instance = instance[:128] or controller
        #: Part of event names, so that two recorders never use the same name at the same moment.
        self._mark = f"{crc32(f'{controller}/{instance}'.encode()):08x}"
        self._clock = clock
        self._correlator = EventCorrelator()
        self._waiting: deque[Write] = deque()
        self._wakeup = asyncio.Event()
        self._rest = asyncio.Event()
        self._rest.set()
        self._dropped = 0
        #: The names of written events, by the correlator's numbers.
        self._names: OrderedDict[int, str] = OrderedDict()

    def __repr__(self) -> str:
        return f"<EventRecorder {self._controller} waiting={len(self._waiting)} dropped={self._dropped}>"

    @property
    def dropped(self) -> int:
        """Number of writes that were dropped so far."""
        return self._dropped

    def record(
        self,
        obj: KubeObject | Unstructured,
        type_: EventType,
        reason: str,
        note: str,
        *,
        action: str = "Reconcile",
    ) -> None:
        """Record an event about an object. ``reason`` is one CamelCase word, ``note`` is a text for people."""
        try:
            event = RecordedEvent(_regarding(obj), type_, reason, note, action)
            write = self._correlator.add(event, now=self._clock.monotonic(), wall=self._clock.now())
        except Exception:  # noqa: BLE001 - the promise of this method
            # An object without a name, or a bug here: neither may fail the reconcile that records the event.
            _log.exception("cannot record an event")
            return
        if write is not None:
            self._enqueue(write)

    async def run(self) -> None:
        """Send recorded events until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._tick(), name="events/series")
            while True:
                await self._wakeup.wait()
                while self._waiting:
                    await self._send(self._waiting.popleft())
                self._wakeup.clear()
                self._rest.set()

    async def wait_sent(self) -> None:
        """Wait until all recorded events were sent or dropped; ``run`` must be running."""
        await self._rest.wait()

    def _enqueue(self, write: Write) -> None:
        if len(self._waiting) >= QUEUE:
            self._drop("the queue is full", write)
            return
        self._waiting.append(write)
        self._rest.clear()
        self._wakeup.set()

    def _drop(self, why: object, write: Write) -> None:
        self._dropped += 1
        _log.warning("an event was dropped", extra={"reason": write.event.reason, "error": str(why)})

    async def _tick(self) -> None:
        while True:
            await self._clock.sleep(TICK_SECONDS)
            for write in self._correlator.tick(now=self._clock.monotonic()):
                self._enqueue(write)

    async def _send(self, write: Write) -> None:
        for attempt in range(TRIES):
            try:
                await self._write(write)
            except _TRANSIENT as error:
                if attempt == TRIES - 1:
                    self._drop(error, write)
                    return
                await self._clock.sleep(RETRY_SECONDS)
            except Exception as error:  # noqa: BLE001 - one event that cannot be written must not end all others
                self._drop(error, write)
                return
            else:
                return

    async def _write(self, write: Write) -> None:
        match write:
            case Create(id=number, event=event, at=at):
                await self._create(number, event, at, 1)
            case Extend(id=number, event=event, count=count, last=last):
                await self._extend(number, event, count, last)

    async def _create(self, number: int, event: RecordedEvent, at: datetime, count: int) -> None:
        name = self._names.get(number) or self._new_name(event.regarding.name, at, number)
        # Remembered before it is sent: after a lost response the retry has the same name.
        self._remember(number, name)
        try:
            await self._writer.create(self._event(name, event, at, count))
        except AlreadyExists:
            return

    async def _extend(self, number: int, event: RecordedEvent, count: int, last: datetime) -> None:
        name = self._names.get(number)
        if name is not None:
            existing = self._event(name, event, last, count)
            patch = {"series": {"count": count, "lastObservedTime": str(MicroTime.of(last))}}
            try:
                await self._writer.patch(existing, patch)
            except NotFound:
                # The server keeps events for an hour; the series continues in a new one.
                del self._names[number]
            else:
                return
        await self._create(number, event, last, count)

    def _new_name(self, name: str, at: datetime, number: int) -> str:
        ending = f".{int(at.timestamp() * 1_000_000):x}{number:x}{self._mark}"
        return name[: _MAX_NAME - len(ending)] + ending

    def _remember(self, number: int, name: str) -> None:
        self._names[number] = name
        while len(self._names) > _NAMES:
            self._names.popitem(last=False)

    def _event(self, name: str, event: RecordedEvent, at: datetime, count: int) -> Event:
        regarding = event.regarding
        return Event(
            ObjectMeta(name, namespace=regarding.namespace or "default"),
            action=event.action,
            event_time=MicroTime.of(at),
            note=event.note,
            reason=event.reason,
            regarding=_reference(regarding),
            related=_reference(event.related) if event.related else None,
            reporting_controller=self._controller,
            reporting_instance=self._instance,
            series=EventSeries(count=count, last_observed_time=MicroTime.of(at)) if count > 1 else None,
            type=event.type,
        )


def _regarding(obj: KubeObject | Unstructured) -> Regarding:
    gvk = gvk_of(obj)
    return Regarding(gvk.api_version, gvk.kind, obj.name, obj.namespace, obj.uid)


def _reference(regarding: Regarding) -> ObjectReference:
    return ObjectReference(
        api_version=regarding.api_version,
        kind=regarding.kind,
        name=regarding.name,
        namespace=regarding.namespace or None,
        uid=regarding.uid or None,
    )
