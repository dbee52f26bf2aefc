"""Remembers what was applied, so that applying the same again while nothing changed sends nothing."""

from collections import OrderedDict

from msgspec import Struct

from steersman.controller.keys.expectations import Target
from steersman.protocol.options import Preconditions

#: Intents that are remembered; forgetting one costs a request, nothing else.
_REMEMBERED = 65_536


class _Applied(Struct, frozen=True, gc=False):
    intent: int
    version: str
    uid: str
    #: The uid of the owner it was applied for; empty for an object without one.
    owner: str


class AppliedIntents:
    """For each object the intent that was applied last, and what the object was afterwards."""

    def __init__(self) -> None:
        self._known: OrderedDict[Target, _Applied] = OrderedDict()

    def is_current(self, target: Target, intent: bytes, version: str) -> bool:
        """Return whether an intent was the last one applied, and the object is still as that left it."""
        known = self._known.get(target)
        return known is not None and known.version == version and known.intent == hash(intent)

    def claim(self, target: Target, owner: str) -> Preconditions | None:
        """Return the preconditions under which an object is still as it was applied for an owner, if it was."""
        known = self._known.get(target)
        if known is None or known.owner != owner:
            return None
        return Preconditions(uid=known.uid, resource_version=known.version)

    def remember(self, target: Target, intent: bytes, *, version: str, uid: str, owner: str) -> None:
        """Note that an intent was applied for an owner, and the version and uid of the object after it."""
        self._known[target] = _Applied(hash(intent), version, uid, owner)
        self._known.move_to_end(target)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def forget(self, target: Target) -> None:
        """Send the next intent in any case, and look at the object first."""
        self._known.pop(target, None)
