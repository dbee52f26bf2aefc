"""The event recorder: tells people what a controller does, as ``events.k8s.io/v1`` objects.

Recording never waits and never raises: what cannot be written is dropped, because no event is worth a reconcile.
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
    Happening,
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

#: Writes that wait; more are dropped.
QUEUE = 1000
#: How often a write is tried while the server cannot take it, and seconds in between.
TRIES, RETRY_SECONDS = 12, 10.0
#: Seconds between looks for series that are over.
TICK_SECONDS = 60.0
#: Names of written events that are remembered, to extend their series.
_NAMES = 4096
#: The longest name of an object.
_MAX_NAME = 253

#: Failures that may pass. Any other answer would be the same the next time.
_PASSING = (TransportError, TooManyRequests, ServiceUnavailable, InternalError, Timeout, ServerTimeout)


class EventRecorder:
    """Records events about objects in the name of one controller. ``run`` sends them: start it beside the controller.

    ``instance`` tells the replicas of a controller apart, usually by the name of their pod.
    """

    def __init__(self, writer: Writer, *, controller: str, instance: str, clock: Clock) -> None:
        self._writer = writer
        self._controller = controller
        self._instance = instance[:128] or controller
        #: Tells apart what two recorders have to say about one object at the same moment.
        self._mark = f"{crc32(f'{controller}/{instance}'.encode()):08x}"
        self._clock = clock
        self._correlator = EventCorrelator()
        self._waiting: deque[Write] = deque()
        self._wakeup = asyncio.Event()
        self._rest = asyncio.Event()
        self._rest.set()
        self._dropped = 0
        #: The names under which events were written, by the correlator's numbers.
        self._names: OrderedDict[int, str] = OrderedDict()

    def __repr__(self) -> str:
        return f"<EventRecorder {self._controller} waiting={len(self._waiting)} dropped={self._dropped}>"

    @property
    def dropped(self) -> int:
        """How many writes were given up so far."""
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
        """Tell that something happened to an object. ``reason`` is one CamelCase word, ``note`` is for people."""
        try:
            happening = Happening(_regarding(obj), type_, reason, note, action)
            write = self._correlator.add(happening, now=self._clock.monotonic(), wall=self._clock.now())
        except Exception:  # noqa: BLE001 - the promise of this method
            # An object that cannot be named, or a defect here: neither may break whoever only wanted to tell of it.
            _log.exception("an event could not be recorded")
            return
        if write is not None:
            self._enqueue(write)

    async def run(self) -> None:
        """Send what is recorded, for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._tick(), name="events/series")
            while True:
                await self._wakeup.wait()
                while self._waiting:
                    await self._send(self._waiting.popleft())
                self._wakeup.clear()
                self._rest.set()

    async def wait_sent(self) -> None:
        """Wait until everything recorded so far was sent or given up; ``run`` must be running."""
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
        _log.warning("an event was dropped", extra={"reason": write.happening.reason, "error": str(why)})

    async def _tick(self) -> None:
        while True:
            await self._clock.sleep(TICK_SECONDS)
            for write in self._correlator.tick(now=self._clock.monotonic()):
                self._enqueue(write)

    async def _send(self, write: Write) -> None:
        for attempt in range(TRIES):
            try:
                await self._write(write)
            except _PASSING as error:
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
            case Create(id=number, happening=happening, at=at):
                await self._create(number, happening, at, 1)
            case Extend(id=number, happening=happening, count=count, last=last):
                await self._extend(number, happening, count, last)

    async def _create(self, number: int, happening: Happening, at: datetime, count: int) -> None:
        name = self._names.get(number) or self._new_name(happening.regarding.name, at, number)
        # Remembered before it is sent: a try whose answer is lost is tried again under the same name.
        self._remember(number, name)
        try:
            await self._writer.create(self._event(name, happening, at, count))
        except AlreadyExists:
            return

    async def _extend(self, number: int, happening: Happening, count: int, last: datetime) -> None:
        name = self._names.get(number)
        if name is not None:
            event = self._event(name, happening, last, count)
            patch = {"series": {"count": count, "lastObservedTime": str(MicroTime.of(last))}}
            try:
                await self._writer.patch(event, patch)
            except NotFound:
                # The server keeps events for an hour; the series goes on in a new one.
                del self._names[number]
            else:
                return
        await self._create(number, happening, last, count)

    def _new_name(self, name: str, at: datetime, number: int) -> str:
        ending = f".{int(at.timestamp() * 1_000_000):x}{number:x}{self._mark}"
        return name[: _MAX_NAME - len(ending)] + ending

    def _remember(self, number: int, name: str) -> None:
        self._names[number] = name
        while len(self._names) > _NAMES:
            self._names.popitem(last=False)

    def _event(self, name: str, happening: Happening, at: datetime, count: int) -> Event:
        regarding = happening.regarding
        return Event(
            ObjectMeta(name, namespace=regarding.namespace or "default"),
            action=happening.action,
            event_time=MicroTime.of(at),
            note=happening.note,
            reason=happening.reason,
            regarding=_reference(regarding),
            related=_reference(happening.related) if happening.related else None,
            reporting_controller=self._controller,
            reporting_instance=self._instance,
            series=EventSeries(count=count, last_observed_time=MicroTime.of(at)) if count > 1 else None,
            type=happening.type,
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
