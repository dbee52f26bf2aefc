"""Remembers what was applied, so that applying the same again while nothing changed sends nothing."""

from collections import OrderedDict

from steersman.controller.expectations import Target

#: Intents that are remembered; forgetting one costs a request, nothing else.
_REMEMBERED = 65_536


class AppliedIntents:
    """For each object the intent that was applied last, and the version that it gave the object."""

    def __init__(self) -> None:
        self._known: OrderedDict[Target, tuple[int, str]] = OrderedDict()

    def is_current(self, target: Target, intent: bytes, version: str) -> bool:
        """Tell whether an intent was the last one applied, and the object is still as that left it."""
        return self._known.get(target) == (hash(intent), version)

    def remember(self, target: Target, intent: bytes, version: str) -> None:
        """Note that an intent was applied, and the version of the object after it."""
        self._known[target] = (hash(intent), version)
        self._known.move_to_end(target)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def forget(self, target: Target) -> None:
        """Send the next intent in any case."""
        self._known.pop(target, None)
