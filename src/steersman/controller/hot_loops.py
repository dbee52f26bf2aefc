"""Finds keys that trigger themselves: each run updates an object, and that update alone causes the next run.

Pure. It counts only updates of one and the same object: creating or deleting many, one a run, is progress.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from steersman.controller.expectations import Target
from steersman.objects.identity import ObjectKey
from steersman.workqueue.backoff import Exponential

#: Runs in a row that update one object because of the run before, until that is taken for a loop.
THRESHOLD = 10
_WAIT = Exponential(base=1.0, limit=300.0)


@dataclass(slots=True)
class _Streak:
    #: How often in a row each object was updated by runs that their own updates caused.
    updates: dict[Target, int] = field(default_factory=dict)
    #: What changed in each, as last seen.
    fields: dict[Target, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HotLoop:
    """A key that triggers itself."""

    key: ObjectKey
    #: The object that keeps being updated, and the fields in it that flap.
    target: Target
    fields: tuple[str, ...]
    runs: int
    #: Seconds to wait before the next run.
    wait: float


class HotLoops:
    """Counts, per key, updates that cause the next run."""

    def __init__(self, threshold: int = THRESHOLD) -> None:
        self._threshold = threshold
        self._streaks: dict[ObjectKey, _Streak] = {}

    def ran(self, key: ObjectKey, updated: Iterable[Target], *, by_itself: bool) -> None:
        """Note the end of a run: what it updated, and whether its own earlier writes were its only cause."""
        updated = list(updated)
        if not updated:
            self._streaks.pop(key, None)
            return
        before = self._streaks.get(key, _Streak()) if by_itself else _Streak()
        self._streaks[key] = _Streak(
            {target: before.updates.get(target, 0) + 1 for target in updated},
            {target: fields for target, fields in before.fields.items() if target in updated},
        )

    def is_suspect(self, key: ObjectKey, target: Target) -> bool:
        """Tell whether it is worth knowing what changes in an object: a loop around it is likely."""
        streak = self._streaks.get(key)
        return streak is not None and streak.updates.get(target, 0) >= self._threshold - 1

    def note_fields(self, key: ObjectKey, target: Target, fields: tuple[str, ...]) -> None:
        """Remember what changed in an object last."""
        streak = self._streaks.get(key)
        if streak is not None:
            streak.fields[target] = fields

    def loop(self, key: ObjectKey) -> HotLoop | None:
        """Give the loop that a key is in, if it is in one."""
        streak = self._streaks.get(key)
        if streak is None:
            return None
        runs = max(streak.updates.values())
        if runs < self._threshold:
            return None
        target = next(target for target, count in streak.updates.items() if count == runs)
        return HotLoop(key, target, streak.fields.get(target, ()), runs, _WAIT.after(runs - self._threshold))

    def forget(self, key: ObjectKey) -> None:
        """Begin anew for a key."""
        self._streaks.pop(key, None)

    def __len__(self) -> int:
        return sum(self.loop(key) is not None for key in self._streaks)
