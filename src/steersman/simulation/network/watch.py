"""One watch of the operator: delivers events, and strikes with the fault that a plan has for one of them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from steersman.protocol.http import Stream
from steersman.simulation.faults.plans import Fault
from steersman.simulation.network.exchanges import Frame, error_frame, frames_of

if TYPE_CHECKING:
    from steersman.simulation.network.connection import Connection

#: Whether events pass, wait for a later moment, are waited out until the history is compacted, or are lost.
Mode: TypeAlias = Literal["passing", "delayed", "unobserved", "lagging", "silent"]

#: Virtual seconds after which a watch that misses events catches up, whatever the scenario does. Below the time after
#: which an informer gives up a silent watch.
_MOST_UNOBSERVED = 60.0
#: Virtual seconds after which delayed events arrive, even while the operator waits for them and is not idle.
_MOST_DELAYED = 5.0


class SimulatedWatch:
    """A server's stream, as the operator receives it."""

    def __init__(self, inner: Stream, connection: "Connection", collection: str, *, is_initial: bool) -> None:
        self._inner = inner
        self._connection = connection
        self.collection = collection
        #: Whether the state of the beginning is still being sent; faults strike at changes.
        self._is_initial = is_initial
        self._mode: Mode = "passing"
        self._waiting: list[bytes] = []
        #: How many further events are missed.
        self._until = 0

    def write(self, chunk: bytes) -> None:
        """Deliver a chunk, event by event."""
        if self._connection.is_cut:
            return
        for frame in frames_of(chunk):
            self._receive(frame)

    def _receive(self, frame: Frame) -> None:
        if not frame.is_event or self._is_initial:
            if frame.type == "BOOKMARK":
                self._is_initial = False
            self._deliver(frame.raw)
            return
        fault = self._connection.note_event(self.collection, frame)
        if self._mode == "unobserved":
            self._until -= 1
            if self._until == 0:
                self.expire()
        elif fault is None or self._mode != "passing":
            self._deliver(frame.raw)
        else:
            self._strike(fault, frame.raw)

    def _deliver(self, raw: bytes) -> None:
        match self._mode:
            case "passing":
                self._inner.write(raw)
            case "delayed" | "lagging":
                self._waiting.append(raw)
            case "unobserved" | "silent":
                pass

    def _strike(self, fault: Fault, raw: bytes) -> None:
        action = _ACTIONS.get(fault.kind)
        if action is not None:
            action(self, raw)
        elif fault.kind == "events-unobserved":
            self._mode, self._until = "unobserved", fault.until
            self._connection.later(_MOST_UNOBSERVED, self.expire)
        elif fault.kind == "crash-at-event":
            self._connection.crash()

    def _duplicate(self, raw: bytes) -> None:
        self._inner.write(raw)
        self._inner.write(raw)

    def _tear(self, raw: bytes) -> None:
        self._inner.write(raw[: len(raw) // 2])
        self._inner.abort()

    def _fail(self, raw: bytes) -> None:
        del raw
        self._inner.write(error_frame(500, "InternalError", "injected by the simulation"))
        self._inner.close()

    def _throttle(self, raw: bytes) -> None:
        del raw
        self._inner.write(error_frame(429, "TooManyRequests", "injected by the simulation"))
        self._inner.close()

    def _recreate(self, raw: bytes) -> None:
        self._connection.recreate_soon()
        self._inner.write(raw)

    def _delay(self, raw: bytes) -> None:
        self._mode = "delayed"
        self._waiting.append(raw)
        self._connection.later(_MOST_DELAYED, self.release)

    def _fall_silent(self, raw: bytes) -> None:
        del raw
        self._mode = "silent"

    def lag(self) -> None:
        """Deliver nothing until ``catch_up``: the replica behind this watch lags."""
        self._mode = "lagging"

    def catch_up(self) -> None:
        """Deliver what waits, in order."""
        if self._mode in {"delayed", "lagging"}:
            self._mode = "passing"
            waiting, self._waiting = self._waiting, []
            for raw in waiting:
                self._inner.write(raw)

    def release(self) -> None:
        """Deliver events that were delayed until the operator is idle."""
        if self._mode == "delayed":
            self.catch_up()

    def heal(self) -> None:
        """End what keeps the watch behind; a silent one is left to the operator to notice."""
        self.catch_up()
        if self._mode == "unobserved":
            self.expire()

    def break_silence(self) -> None:
        """Break a watch that fell silent, for operators that would wait for the server to end it."""
        if self._mode == "silent":
            self._inner.abort()

    def expire(self) -> None:
        """End the watch because the history that it needs is gone: the operator has to list again."""
        if self._inner.is_open:
            self._mode = "silent"
            self._inner.write(error_frame(410, "Expired", "too old resource version: injected by the simulation"))
            self._inner.close()

    # The rest of a stream.

    def close(self) -> None:
        """End the answer properly."""
        self.heal()
        self._inner.close()

    def abort(self) -> None:
        """Break the connection in the middle of the answer."""
        self._inner.abort()

    @property
    def is_open(self) -> bool:
        """Whether the operator may still receive."""
        return self._inner.is_open

    @property
    def is_writable(self) -> bool:
        """Whether the operator keeps up."""
        return self._inner.is_writable

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time the operator has caught up."""
        self._inner.on_writable(callback)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the operator is gone or the answer was ended."""
        self._inner.on_close(callback)


_ACTIONS: dict[str, Callable[[SimulatedWatch, bytes], None]] = {
    "watch-reset": lambda watch, _: watch.abort(),
    "watch-closed": lambda watch, _: watch.close(),
    "watch-torn": SimulatedWatch._tear,  # noqa: SLF001 - its own table
    "watch-expired": lambda watch, _: watch.expire(),
    "watch-error": SimulatedWatch._fail,  # noqa: SLF001 - its own table
    "watch-throttled": SimulatedWatch._throttle,  # noqa: SLF001 - its own table
    "recreated-at-event": SimulatedWatch._recreate,  # noqa: SLF001 - its own table
    "watch-silent": SimulatedWatch._fall_silent,  # noqa: SLF001 - its own table
    "event-duplicated": SimulatedWatch._duplicate,  # noqa: SLF001 - its own table
    "event-delayed": SimulatedWatch._delay,  # noqa: SLF001 - its own table
}
