"""`AppliedIntents`: what was applied last, so that applying the same intent to an unchanged object sends nothing."""

from collections import OrderedDict

from msgspec import Struct

from steersman.controller.reports.writes import Target
from steersman.protocol.options import Preconditions

#: Number of intents that are remembered; forgetting one only costs a request.
_REMEMBERED = 65_536


class _Applied(Struct, frozen=True, gc=False):
    intent: int
    version: str
    uid: str
    #: The uid of the owner it was applied for; empty for an object without one.
    owner: str


class AppliedIntents:
    """The last applied intent of each object, and the object's identity afterwards."""

    def __init__(self) -> None:
        self._known: OrderedDict[Target, _Applied] = OrderedDict()

    def is_current(self, target: Target, intent: bytes, version: str) -> bool:
        """Return whether an intent was applied last and the object has not changed since."""
        known = self._known.get(target)
        return known is not None and known.version == version and known.intent == hash(intent)

    def claim(self, target: Target, owner: str) -> Preconditions | None:
        """Return the preconditions that an object is as it was applied for an owner; ``None`` if it was not."""
        known = self._known.get(target)
        if known is None or known.owner != owner:
            return None
        return Preconditions(uid=known.uid, resource_version=known.version)

    def remember(self, target: Target, intent: bytes, *, version: str, uid: str, owner: str) -> None:
        """Remember an intent that was applied for an owner, and the version and uid of the object after it."""
        self._known[target] = _Applied(hash(intent), version, uid, owner)
        self._known.move_to_end(target)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def forget(self, target: Target) -> None:
        """Forget an object: its next intent is sent in any case, after reading the object."""
        self._known.pop(target, None)
