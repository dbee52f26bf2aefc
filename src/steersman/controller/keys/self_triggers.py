"""Keys that their own writes trigger: echoes that need no run, and loops that are slowed down.

``hot_loops`` counts; this knows which versions of objects were written by the controller itself, and until when a key
that triggers itself has to wait.
"""

import logging
from collections import OrderedDict

from steersman.controller.keys.expectations import Target, Write
from steersman.controller.keys.hot_loops import HotLoops
from steersman.controller.keys.write_barrier import Wanted
from steersman.controller.reports.causes import Cause, What
from steersman.controller.reports.observer import ControllerObserver
from steersman.objects.identity import ObjectKey

_log = logging.getLogger("steersman.controller")

#: Own writes that are remembered, to know a run's causes for its own doing.
_REMEMBERED_WRITES = 4096


class SelfTriggers:
    """What the runs of one controller wrote, and which of its keys are wanted for no other reason."""

    def __init__(self, name: str, kind: str, observer: ControllerObserver) -> None:
        self._name = name
        self._kind = kind
        self._observer = observer
        self.hot = HotLoops()
        self._cool_until: dict[ObjectKey, float] = {}
        #: The versions that this controller gave to objects, oldest first.
        self._own_versions: OrderedDict[tuple[str, ObjectKey, str], None] = OrderedDict()

    def wrote(self, target: Target, write: Write) -> None:
        """Remember a write of this controller."""
        self._own_versions[target.gvk.kind, target.key, write.version] = None
        if len(self._own_versions) > _REMEMBERED_WRITES:
            self._own_versions.popitem(last=False)

    def is_echo(self, taken: Wanted) -> bool:
        """Return whether a key is wanted only because its last run added the finalizer: that run went on with it."""
        if not taken.causes or taken.causes[0].detail != "finalizers":
            return False
        return all(
            cause.detail == "finalizers" and (cause.kind, cause.key) == (self._kind, taken.key) and self._is_own(cause)
            for cause in taken.causes
        )

    def ran(self, taken: Wanted, written: list[Target], now: float) -> None:
        """Note the end of a run and what it wrote; a key that is in a loop has to wait from now on."""
        key = taken.key
        self.hot.ran(key, written, by_itself=self._is_by_itself(taken), now=now)
        loop = self.hot.loop(key)
        if loop is None:
            if self._cool_until.pop(key, None) is not None:
                self._observer.hot_loops(len(self.hot))
            return
        if not written:
            return
        self._cool_until[key] = now + loop.wait
        self._observer.hot_loops(len(self.hot))
        _log.warning(
            "an object triggers itself: its reconcile keeps writing the same object",
            extra={
                "controller": self._name,
                "key": str(key),
                "target": str(loop.target),
                "fields": list(loop.fields),
                "runs": loop.runs,
                "wait": loop.wait,
            },
        )

    def seconds_to_wait(self, taken: Wanted, now: float) -> float:
        """Return how long a key that triggers itself is put off; any other cause lets it run at once."""
        until = self._cool_until.get(taken.key)
        if until is None or not self._is_by_itself(taken):
            return 0.0
        return max(until - now, 0.0)

    def forget(self, key: ObjectKey) -> None:
        """Remember nothing of an object that is gone."""
        self.hot.forget(key)
        self._cool_until.pop(key, None)

    def _is_own(self, cause: Cause) -> bool:
        return (cause.kind, cause.key, cause.version) in self._own_versions

    def _is_by_itself(self, taken: Wanted) -> bool:
        """Return whether a key is wanted only because of what its last run wrote: it changed, or was deleted."""
        others = [cause for cause in taken.causes if not self._is_own(cause)]
        if not others:
            return bool(taken.causes)
        if any(cause.what is not What.DELETED for cause in others):
            return False
        written = {(target.gvk.kind, target.key) for target in self.hot.writes(taken.key)}
        return all((cause.kind, cause.key) in written for cause in others)
