"""Makes backups beside the reconciles: a copy that takes minutes must not delay a failover.

A reconcile asks for a backup and goes on; a later one finds how it ended. Nothing is lost with the operator: which
backup is due follows from the status.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from redisfailover.servers import Snapshot, Unreachable


@dataclass(frozen=True, slots=True)
class Failed:
    """A backup that was not made, and why."""

    problem: str


Outcome = Snapshot | Failed
Work = Callable[[], Awaitable[Snapshot]]


@dataclass(slots=True)
class BackupRunner:
    """Makes one backup after the other."""

    #: By the name of the file. A backup is in one of these.
    _wanted: dict[str, Work] = field(default_factory=dict)
    _running: set[str] = field(default_factory=set)
    _done: dict[str, Outcome] = field(default_factory=dict)
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event)

    def request(self, name: str, work: Work) -> Outcome | None:
        """Return how a backup ended, once; before that, let it be made and return ``None``."""
        if name in self._done:
            return self._done.pop(name)
        if name not in self._running:
            self._wanted.setdefault(name, work)
            self._wakeup.set()
        return None

    async def run(self, *_: Any) -> None:
        """Make backups as they are asked for, until cancelled."""
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
