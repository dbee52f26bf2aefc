"""`Rounds`: which mutating webhooks or policies see a write a second time.

Mutating admission runs once, policies first and webhooks after them. If anything has changed the object, it runs a
second time and never a third: then only those are invoked that ask for it (``reinvocationPolicy: IfNeeded``) and were
invoked before the object changed. Policies and webhooks each have their own rounds.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

from steersman.golang.equality import json_equal
from steersman.json_types import JsonObject


@dataclass(slots=True)
class Rounds:
    """Both rounds of one write through the webhooks, or through the policies."""

    #: Whether this is the second round.
    is_again: bool = False
    #: Whether any of them changed the object.
    has_changed: bool = False
    #: Those that ask for it and were invoked since the last change.
    asked: set[Hashable] = field(default_factory=set)
    _again: set[Hashable] = field(default_factory=set)
    _last: JsonObject | None = field(default=None, repr=False)

    def begin_again(self, obj: JsonObject | None) -> None:
        """Begin the second round; what the other kind of admission has changed since the first counts, too."""
        self.is_again = True
        if not json_equal(obj, self._last):
            self._invoke_again()

    def end(self, obj: JsonObject | None) -> None:
        """Note the object at the end of a round."""
        self._last = obj

    def skips(self, key: Hashable) -> bool:
        """Return whether a webhook or a policy is not invoked in this round."""
        return self.is_again and key not in self._again

    def changed(self) -> None:
        """Note a change: all that were invoked so far, and ask for it, are invoked again."""
        self.has_changed = True
        self._invoke_again()

    def _invoke_again(self) -> None:
        self._again |= self.asked
        self.asked.clear()
