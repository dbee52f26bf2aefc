"""A deterministic event loop and clock: with the same seed, a run repeats step for step.

Time is virtual. It passes when nothing else can go on, and jumps to the next timer. Nothing here can wait for a socket,
a process or a thread: whatever asks for one would make a run depend on the machine, so it is rejected by name.
"""

import asyncio
import heapq
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from datetime import datetime, timedelta
from typing import Any, Never, TypeVar

from steersman.clock import Clock, Timer
from steersman.errors import SteersmanError
from steersman.json_types import JsonObject
from steersman.testing.fake_clock import FakeClock

T = TypeVar("T")

#: Turns of the event loop in which no time passes; a run needs a few hundred.
_MOST_TURNS = 100_000


class NotDeterministic(SteersmanError):  # noqa: N818 - named as our errors are
    """Something in a run depends on more than its seed; the message names it."""


class Stuck(SteersmanError):  # noqa: N818 - same
    """A run waits for something that can never happen."""


class WriteStorm(SteersmanError):  # noqa: N818 - same
    """An operator writes without end."""


class SimulatedClock(FakeClock):
    """Virtual time that can start again from zero, and can pass while everything stands still."""

    def __init__(self) -> None:
        super().__init__()
        #: Resolved one after the other when nothing else can go on without time passing.
        self._waiting_for_rest: deque[asyncio.Future[None]] = deque()

    def reset(self) -> None:
        """Start again from zero, without timers."""
        self.__init__()  # type: ignore[misc] # everything as at the beginning

    async def settle(self) -> None:
        """Wait until nothing else can go on without time passing.

        The event loop wakes the caller then, instead of the caller looking in each turn of the loop.
        """
        rest = asyncio.get_running_loop().create_future()
        self._waiting_for_rest.append(rest)
        await rest

    def wake_at_rest(self) -> bool:
        """Wake the first caller of ``settle``, as nothing else can go on; return whether there was one."""
        while self._waiting_for_rest:
            rest = self._waiting_for_rest.popleft()
            if not rest.done():
                rest.set_result(None)
                return True
        return False

    async def advance(self, seconds: float) -> None:
        """Advance the clock; the event loop runs every timer that is due meanwhile, and the caller wakes at the end."""
        if seconds > 0:
            await self.sleep(seconds)
        await super().advance(0.0)

    def stall(self, seconds: float) -> None:
        """Advance the time without running what becomes due meanwhile; it runs afterwards."""
        self._elapsed += seconds

    def run_next_timer(self) -> bool:
        """Move on to the next timer and run it; return whether there was one."""
        left = self.next_timer()
        if left is None:
            return False
        _, _, timer = heapq.heappop(self._timers)
        self._elapsed += left
        callback, timer.callback = timer.callback, None
        if callback is not None:
            callback()
        return True


class InstanceClock(Clock):
    """The clock of one instance of an operator: its wall clock may be wrong, and it ends with the instance."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self._is_dead = False
        #: How far the wall clock is off.
        self.skew = timedelta()

    def die(self) -> None:
        """End every wait that begins from now on at once: nothing of a dead process is waited for."""
        self._is_dead = True

    def now(self) -> datetime:
        """Return the wall-clock time as this instance sees it."""
        return self._inner.now() + self.skew

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._inner.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run the callback after that many seconds; at once if the instance is dead."""
        if self._is_dead:
            return asyncio.get_running_loop().call_soon(callback)
        return self._inner.call_later(seconds, callback)


class SimulationLoop(asyncio.BaseEventLoop):
    """An event loop under virtual time, without sockets, processes and threads.

    A turn runs what is ready, in the order in which it became ready. Where a real loop would wait for events, a
    task that waits for rest is woken, or time jumps to the next timer.
    """

    _ready: deque[asyncio.Handle]

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__()
        self._clock = clock
        self._tasks: list[asyncio.Task[Any]] = []
        #: Called with what is about to run; it runs only if the result is true.
        self.before_step: Callable[[asyncio.Handle], bool] | None = None
        #: Unhandled exceptions of tasks and callbacks.
        self.unhandled: list[str] = []
        self._turns = 0
        self.set_exception_handler(self._note)

    def unfinished_tasks(self) -> list[asyncio.Task[Any]]:
        """Return the tasks of this loop that have not ended; ``asyncio.all_tasks`` looks at those of every loop."""
        self._tasks = [task for task in self._tasks if not task.done()]
        return self._tasks

    def create_task(self, coro: Coroutine[Any, Any, T], **options: Any) -> asyncio.Task[T]:  # type: ignore[override]
        """Create a task of this loop."""
        task = super().create_task(coro, **options)
        self._tasks.append(task)
        return task

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call back in the next turn."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def resume(self, handle: asyncio.Handle) -> None:
        """Run what ``before_step`` has held back, in the next turn."""
        self._ready.append(handle)

    def _run_once(self) -> None:
        ready = self._ready
        while not ready:
            self._pass_time()
            self._turns = 0
        self._turns += 1
        if self._turns > _MOST_TURNS:
            self._turns = 0
            raise Stuck(
                f"the event loop turned {_MOST_TURNS:,} times in no time: a loop polls without waiting, such as "
                "`while …: await asyncio.sleep(0)`; let it wait for an event or for some seconds"
            )
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled() and (self.before_step is None or self.before_step(handle)):
                handle._run()  # noqa: SLF001 - what the loop itself does with a handle

    def _pass_time(self) -> None:
        if not self._clock.wake_at_rest() and not self._clock.run_next_timer():
            raise Stuck("nothing can continue: every task waits for something that never happens, and no timer is set")

    def _note(self, _: asyncio.AbstractEventLoop, context: JsonObject) -> None:
        error = context.get("exception")
        self.unhandled.append(f"{context['message']}{f': {error!r}' if error is not None else ''}")

    def _write_to_self(self) -> None:
        if threading.get_ident() == self._thread_id:  # type: ignore[attr-defined]
            return  # call_soon_threadsafe from the loop's own thread: nothing sleeps that must be woken
        raise NotDeterministic("a thread called into the event loop: the order of threads is not reproducible")

    def time(self) -> float:
        """Return the virtual time."""
        return self._clock.monotonic()

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call back at a virtual time."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)

        def run() -> None:
            if not handle.cancelled():
                handle._run()  # noqa: SLF001 - what the loop itself does with a handle

        self._clock.call_later(when - self.time(), run)
        return handle

    def run_in_executor(self, *_: Any) -> Never:  # type: ignore[override]
        """Reject threads."""
        raise NotDeterministic(
            "a thread was started (a plain `def` reconciler, asyncio.to_thread or run_in_executor): threads run in no "
            "reproducible order; declare the reconciler with `async def` to simulate it"
        )

    def _reject(self, *_: Any, **__: Any) -> Never:
        raise NotDeterministic(
            "a socket or a process was opened: its answers depend on the world outside; let an app of the test answer "
            "(cluster.serve_http), or pass a stand-in to the operator"
        )

    create_connection = create_server = create_datagram_endpoint = _reject
    create_unix_connection = create_unix_server = subprocess_exec = subprocess_shell = _reject
    getaddrinfo = sock_connect = sock_sendall = sock_recv = add_reader = add_writer = _reject  # type: ignore[assignment]
    add_signal_handler = _reject  # type: ignore[assignment]
