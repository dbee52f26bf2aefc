"""Make backups outside of reconciles: a copy that takes minutes must not delay a failover.

A reconcile requests a backup and continues; a later one collects the result. If the operator crashes nothing is lost,
because the status determines which backup is due.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from redisfailover.servers import Snapshot, Unreachable


@dataclass(frozen=True, slots=True)
class Failed:
    """A backup that failed, with the reason."""

    problem: str


Outcome = Snapshot | Failed
Work = Callable[[], Awaitable[Snapshot]]


@dataclass(slots=True)
class BackupRunner:
    """Runs requested backups one at a time."""

    #: Keyed by file name. A backup is in one of these three.
    _wanted: dict[str, Work] = field(default_factory=dict)
    _running: set[str] = field(default_factory=set)
    _done: dict[str, Outcome] = field(default_factory=dict)
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event)

    def request(self, name: str, work: Work) -> Outcome | None:
        """Return the outcome of a backup, once; until it has ended, schedule it and return ``None``."""
        if name in self._done:
            return self._done.pop(name)
        if name not in self._running:
            self._wanted.setdefault(name, work)
            self._wakeup.set()
        return None

    async def run(self, *_: Any) -> None:
        """Make requested backups until cancelled."""
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            while self._wanted:
                name, work = next(iter(self._wanted.items()))
                del self._wanted[name]
                self._running.add(name)
                try:
                    self._done[name] = await work()
                except (Unreachable, OSError) as error:
                    self._done[name] = Failed(str(error))
                finally:
                    self._running.discard(name)
