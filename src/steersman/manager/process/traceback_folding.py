"""Which tracebacks are logged in full: the first of a kind, and then one every ten minutes. A rule without I/O.

An operator with a thousand failing objects logs the same forty lines a thousand times, and the one line that differs
cannot be found. Two tracebacks are the same if their exceptions have the same types and passed through the same lines
of code, whatever their messages say: messages usually name the object. Folding never drops a record. It only replaces
the traceback, so the message of every exception is still logged.
"""

import traceback
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

#: Seconds after which the same traceback is logged in full again: what is older may have left the log.
FULL_EVERY: Final = 600.0
#: Number of tracebacks that are remembered; of more, those that were not seen for longest are forgotten.
LIMIT: Final = 256
#: Frames and exceptions that tell tracebacks apart; a recursion or a group of thousands is not read to its end.
_DEPTH: Final = 200

Fingerprint = int


def fingerprint(error: BaseException) -> Fingerprint:
    """Return a number that is equal for exceptions of the same types that passed through the same lines of code."""
    parts: list[object] = []
    for one in _chain(error):
        parts.append(f"{type(one).__module__}.{type(one).__qualname__}")
        for frame, line in traceback.walk_tb(one.__traceback__):
            parts.append((frame.f_code.co_filename, frame.f_code.co_qualname, line))
            if len(parts) > _DEPTH:
                return hash(tuple(parts))
    return hash(tuple(parts))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its causes and the members of groups, each once."""
    seen: set[int] = set()
    waiting = [error]
    while waiting and len(seen) < _DEPTH:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(reversed(one.exceptions))
        cause = one.__cause__ if one.__suppress_context__ else one.__cause__ or one.__context__
        if cause is not None:
            waiting.append(cause)


@dataclass(slots=True)
class Repeat:
    """A traceback that was logged before."""

    #: When it was last logged in full, in seconds since 1970.
    full_at: float
    #: Records with this traceback since then.
    count: int = 0


@dataclass(slots=True)
class TracebackFolder:
    """Decide for each traceback whether it is logged in full."""

    full_every: float = FULL_EVERY
    limit: int = LIMIT
    #: Least recently seen first. Invariant: at most ``limit`` entries.
    _known: OrderedDict[Fingerprint, Repeat] = field(default_factory=OrderedDict)

    def fold(self, key: Fingerprint, at: float) -> Repeat | None:
        """Count a traceback and return when it was last logged in full; ``None`` if it must be logged in full now.

        The times of records come from the wall clock, which may be set back: that counts as time that has passed.
        """
        known = self._known.get(key)
        if known is None or abs(at - known.full_at) >= self.full_every:
            self._known[key] = Repeat(at)
            self._known.move_to_end(key)
            if len(self._known) > self.limit:
                self._known.popitem(last=False)
            return None
        known.count += 1
        self._known.move_to_end(key)
        return known
