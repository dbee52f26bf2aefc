"""`Chores`: work that writes leave behind, done once each, soon, in the order in which it came up."""

import asyncio
import logging
from collections.abc import Callable, Hashable

from steersman.apiserver.status import Refusal

_log = logging.getLogger("steersman.apiserver")
#: How many chores are done in one turn of the event loop: clients are not kept waiting for a large cleaning.
_AT_ONCE = 100


class Chores:
    """A queue without duplicates. A chore that comes up again while it is done is done once more afterwards."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._is_scheduled = False
        self._is_resting = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: Hashable, chore: Callable[[], None]) -> None:
        """Do something soon, unless it waits to be done already."""
        if key not in self._waiting:
            self._waiting[key] = chore
            self._schedule()

    def clear(self) -> None:
        """Forget everything that waits."""
        self._waiting.clear()

    def rest(self) -> None:
        """Do nothing more in this turn of the event loop: what was done was much."""
        self._is_resting = True

    def run(self) -> None:
        """Do everything now, also what comes up meanwhile."""
        while self._waiting:
            self._do_next()

    def _schedule(self) -> None:
        if self._is_scheduled:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # nobody is served yet; whoever starts the server runs what waits
        self._is_scheduled = True
        loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = self._is_resting = False
        for _ in range(_AT_ONCE):
            if not self._waiting:
                return
            self._do_next()
            if self._is_resting:
                break
        if self._waiting:
            self._schedule()

    def _do_next(self) -> None:
        key = next(iter(self._waiting))
        chore = self._waiting.pop(key)
        try:
            chore()
        except Refusal as refusal:
            _log.warning("a chore was refused", extra={"chore": key, "reason": refusal.message})
        except Exception:  # noqa: BLE001 - a bug in one chore must not keep the others from being done
            _log.exception("a chore failed", extra={"chore": key})
