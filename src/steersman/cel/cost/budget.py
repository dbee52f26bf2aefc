"""The remaining cost budget of the rules of one object.

Most rules are cheap by estimate, so they run unmetered: the budget reserves the most they can have cost and remembers
them. Only when the rest is not enough are they measured, by evaluating them again.
"""

from typing import Any, Protocol

from steersman.cel.cost.factors import PER_OBJECT_LIMIT


class Measurable(Protocol):
    """A rule that ran unmeasured."""

    @property
    def most(self) -> int:
        """The most that one evaluation can cost."""
        ...

    def measure(self, value: object, old: object) -> int:
        """Evaluate it again and return the cost."""
        ...


class Budget:
    """The remaining cost of one object; when it is exhausted no further rule runs."""

    __slots__ = ("free", "unmeasured")

    def __init__(self, limit: int = PER_OBJECT_LIMIT) -> None:
        #: The cost that is surely left; negative when the budget is exhausted.
        self.free = limit
        #: Rules whose maximum cost was reserved instead of measured, with the values they ran on.
        self.unmeasured: list[tuple[Measurable, Any, Any]] = []

    @property
    def is_exhausted(self) -> bool:
        """True when no further rule will run on this object."""
        return self.free < 0

    def is_spent(self) -> bool:
        """Return whether nothing is left."""
        if self.free <= 0:
            self._settle()
        return self.free <= 0

    def spend(self, cost: int) -> bool:
        """Subtract the cost; return whether enough was left."""
        if cost > self.free:
            self._settle()
        self.free = self.free - cost if cost <= self.free else -1
        return self.free >= 0

    def exhaust(self) -> None:
        """End the budget: no further rule runs."""
        self.unmeasured.clear()
        self.free = -1

    def _settle(self) -> None:
        """Measure what ran unmetered, and return the excess of the reservations."""
        pending, self.unmeasured = self.unmeasured, []
        for rule, value, old in pending:
            self.free += max(rule.most - rule.measure(value, old), 0)
