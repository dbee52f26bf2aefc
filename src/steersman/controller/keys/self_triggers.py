"""Keys that are triggered by their own writes: echoes need no run, and loops are slowed down.

An echo is the event of the finalizer that the last run added: that run has already worked with it. A hot loop is a key
whose runs keep writing one and the same object, and each write causes the next run: two writers of one field, or a
value that is never the same twice. A fight looks the same: a run creates an object that another client deletes at once.
Writing many objects, one in each run, is progress and not a loop.

A cause is "own" if its object has a version that this controller wrote. Those versions are remembered for all keys of
the controller together, because the write of one key can trigger another key, which writes the same object.
"""

import logging
from collections import OrderedDict

from msgspec import Struct

from steersman.controller.keys.key_state import KeyState, ReconcileRequest, WriteStreak
from steersman.controller.reports.causes import Cause, Part
from steersman.controller.reports.writes import Target, Write
from steersman.errors import DecodeError
from steersman.history.records import CauseType
from steersman.informer.record import Record
from steersman.objects.codec import decode_json
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.protocol.patches import json_patch_between
from steersman.workqueue.backoff import Exponential

_log = logging.getLogger("steersman.controller")

#: Runs in a row that write one object because of the run before, until that counts as a loop.
THRESHOLD = 10
#: Seconds between two runs after which the second is not a consequence of the first.
CALM = 600.0
_WAIT = Exponential(base=1.0, limit=300.0)
#: Number of own writes that are remembered; forgetting one can only delay the detection of a loop.
_REMEMBERED_WRITES = 4096
_ONLY_FINALIZERS = (Part.FINALIZERS,)
#: Fields that change with every write.
_ALWAYS_CHANGED = ("/metadata/resourceVersion", "/metadata/generation")
#: Number of changed fields that are named in the log.
_NAMED_FIELDS = 5


class HotLoop(Struct, frozen=True):
    """A key that triggers itself."""

    #: The object that keeps being written, and the fields that change in it; no fields if it is deleted each time.
    target: Target
    fields: tuple[str, ...]
    runs: int
    #: Seconds to wait before the next run.
    wait: float


class HotLoops:
    """The rules of hot loops, over the streak in a key's state. Pure."""

    def __init__(self, threshold: int = THRESHOLD) -> None:
        self._threshold = threshold

    def ran(self, state: KeyState, written: list[Target], *, by_itself: bool, now: float) -> None:
        """Count a run: the objects that it created or changed, and whether its own writes were its only causes."""
        if not written:
            # A run that was caused by its own write and writes nothing does not end a streak; any other cause does.
            if not by_itself:
                state.streak = None
            return
        before = state.streak if by_itself else None
        if before is None or now - before.at > CALM:
            state.streak = WriteStreak(dict.fromkeys(written, 1), now)
            return
        state.streak = WriteStreak(
            {target: before.writes.get(target, 0) + 1 for target in written},
            now,
            {target: fields for target, fields in before.fields.items() if target in written},
        )

    def is_suspect(self, state: KeyState, target: Target) -> bool:
        """Return whether a loop around an object is likely, so that it is worth knowing which fields change."""
        return state.streak is not None and state.streak.writes.get(target, 0) >= self._threshold - 1

    def loop(self, state: KeyState) -> HotLoop | None:
        """Return the loop that a key is in, if any."""
        streak = state.streak
        if streak is None:
            return None
        runs = max(streak.writes.values())
        if runs < self._threshold:
            return None
        target = next(target for target, count in streak.writes.items() if count == runs)
        return HotLoop(target, streak.fields.get(target, ()), runs, _WAIT.after(runs - self._threshold))


def changed_fields(old: Record, new: Record) -> tuple[str, ...]:
    """Return the first few fields in which two states of an object differ, as JSON pointers."""
    try:
        operations = json_patch_between(decode_json(old.data), decode_json(new.data))
    except DecodeError:
        return ()
    paths = dict.fromkeys(str(operation["path"]) for operation in operations)
    return tuple(path for path in paths if path not in _ALWAYS_CHANGED)[:_NAMED_FIELDS]


class SelfTriggers:
    """Recognises the echoes and loops of one controller."""

    def __init__(self, name: str, gvk: GroupVersionKind) -> None:
        self._name = name
        self._gvk = gvk
        self._rules = HotLoops()
        #: Keys that are in a loop.
        self._looping: set[ObjectKey] = set()
        #: The versions that this controller wrote, oldest first.
        self._own_versions: OrderedDict[tuple[Target, str], None] = OrderedDict()

    @property
    def loop_count(self) -> int:
        """Number of keys that are in a loop."""
        return len(self._looping)

    def wrote(self, target: Target, write: Write) -> None:
        """Remember a write of this controller."""
        self._own_versions[target, write.version] = None
        if len(self._own_versions) > _REMEMBERED_WRITES:
            self._own_versions.popitem(last=False)

    def note_change(self, state: KeyState | None, target: Target, old: Record, new: Record) -> None:
        """Remember which fields changed in an object around which a loop is likely."""
        if state is not None and state.streak is not None and self._rules.is_suspect(state, target):
            state.streak.fields[target] = changed_fields(old, new)

    def is_echo(self, request: ReconcileRequest) -> bool:
        """Return whether a key is queued only because its last run added the finalizer."""
        causes = request.causes
        if not causes or causes[0].parts != _ONLY_FINALIZERS:
            return False
        own = Target(self._gvk, request.key)
        return all(cause.parts == _ONLY_FINALIZERS and cause.target == own and self._is_own(cause) for cause in causes)

    def ran(self, state: KeyState, request: ReconcileRequest, written: list[Target], now: float) -> None:
        """Count a run and what it wrote; a key in a loop has to wait from now on."""
        self._rules.ran(state, written, by_itself=self._is_by_itself(state, request), now=now)
        if state.streak is None and state.cool_until is None:
            return
        loop = self._rules.loop(state)
        if loop is None:
            self._calm(state)
            return
        if not written:
            return
        state.cool_until = now + loop.wait
        self._looping.add(state.key)
        _log.warning(
            "an object triggers itself: its reconcile keeps writing the same object",
            extra={
                "controller": self._name,
                "key": str(state.key),
                "target": str(loop.target),
                "fields": list(loop.fields),
                "runs": loop.runs,
                "wait": loop.wait,
            },
        )

    def seconds_to_wait(self, state: KeyState, request: ReconcileRequest, now: float) -> float:
        """Return the seconds that a key in a loop must wait; with any other cause it runs at once."""
        if state.cool_until is None or not self._is_by_itself(state, request):
            return 0.0
        return max(state.cool_until - now, 0.0)

    def forget(self, state: KeyState) -> None:
        """Forget the streak of a key."""
        state.streak = None
        self._calm(state)

    def _calm(self, state: KeyState) -> None:
        if state.cool_until is not None:
            state.cool_until = None
            self._looping.discard(state.key)

    def _is_own(self, cause: Cause) -> bool:
        return cause.target is not None and (cause.target, cause.version) in self._own_versions

    def _is_by_itself(self, state: KeyState, request: ReconcileRequest) -> bool:
        """Return whether all causes are writes of this controller, or deletions of what the last run wrote."""
        for cause in request.causes:
            if self._is_own(cause):
                continue
            if cause.type is not CauseType.DELETED or state.streak is None or cause.target not in state.streak.writes:
                return False
        return bool(request.causes)
