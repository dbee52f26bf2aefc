"""Finds keys that trigger themselves: each run writes an object, and that alone causes the next run.

So does a fight: what a run creates, somebody else deletes at once. Pure. It counts only writes of one and the same
object: creating or changing many, one a run, is progress.
"""

from collections.abc import Iterable

from msgspec import Struct, field

from steersman.controller.keys.expectations import Target
from steersman.objects.identity import ObjectKey
from steersman.workqueue.backoff import Exponential

#: Runs in a row that write one object because of the run before, until that is taken for a loop.
THRESHOLD = 10
#: Seconds between two runs after which the second is no consequence of the first.
CALM = 600.0
_WAIT = Exponential(base=1.0, limit=300.0)


class _Streak(Struct):
    #: How often in a row each object was written by runs that their own writes caused.
    writes: dict[Target, int] = field(default_factory=dict)
    #: When the last of these runs was.
    at: float = float("-inf")
    #: What changed in each, as last seen.
    fields: dict[Target, tuple[str, ...]] = field(default_factory=dict)


class HotLoop(Struct, frozen=True):
    """A key that triggers itself."""

    key: ObjectKey
    #: The object that keeps being written, and the fields in it that flap; none if it is deleted each time.
    target: Target
    fields: tuple[str, ...]
    runs: int
    #: Seconds to wait before the next run.
    wait: float


class HotLoops:
    """Counts, per key, writes that cause the next run."""

    def __init__(self, threshold: int = THRESHOLD) -> None:
        self._threshold = threshold
        self._streaks: dict[ObjectKey, _Streak] = {}

    def ran(self, key: ObjectKey, written: Iterable[Target], *, by_itself: bool, now: float) -> None:
        """Note the end of a run: what it created or changed, and whether its own writes were its only cause."""
        written = list(written)
        if not written:
            # The echo of a write is seldom followed by another at once: it ends nothing. Any other cause does.
            if not by_itself:
                self._streaks.pop(key, None)
            return
        before = self._streaks.get(key, _Streak()) if by_itself else _Streak()
        if now - before.at > CALM:
            before = _Streak()
        self._streaks[key] = _Streak(
            {target: before.writes.get(target, 0) + 1 for target in written},
            now,
            {target: fields for target, fields in before.fields.items() if target in written},
        )

    def writes(self, key: ObjectKey) -> Iterable[Target]:
        """Give the objects that the last run of a key wrote."""
        streak = self._streaks.get(key)
        return streak.writes if streak is not None else ()

    def is_suspect(self, key: ObjectKey, target: Target) -> bool:
        """Tell whether it is worth knowing what changes in an object: a loop around it is likely."""
        streak = self._streaks.get(key)
        return streak is not None and streak.writes.get(target, 0) >= self._threshold - 1

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
        runs = max(streak.writes.values())
        if runs < self._threshold:
            return None
        target = next(target for target, count in streak.writes.items() if count == runs)
        return HotLoop(key, target, streak.fields.get(target, ()), runs, _WAIT.after(runs - self._threshold))

    def forget(self, key: ObjectKey) -> None:
        """Begin anew for a key."""
        self._streaks.pop(key, None)

    def __len__(self) -> int:
        return sum(self.loop(key) is not None for key in self._streaks)
