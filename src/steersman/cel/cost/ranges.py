"""Ranges of sizes and costs, in the saturating 64-bit arithmetic of Kubernetes' cost estimate."""

import math
from dataclasses import dataclass

LIMIT = (1 << 64) - 1


def add(left: int, right: int) -> int:
    """Add, never beyond the limit."""
    return min(left + right, LIMIT)


def multiply(left: int, right: int) -> int:
    """Return the product, limited."""
    return min(left * right, LIMIT)


def scale(amount: int, factor: float) -> int:
    """Return a multiple rounded up, limited."""
    product = float(amount) * factor
    return LIMIT if product >= LIMIT else math.ceil(product)


@dataclass(frozen=True, slots=True)
class Estimate:
    """At least and at most how large, or how costly."""

    least: int
    most: int

    def plus(self, other: "Estimate") -> "Estimate":
        """Add."""
        return Estimate(add(self.least, other.least), add(self.most, other.most))

    def times(self, other: "Estimate") -> "Estimate":
        """Return the product."""
        return Estimate(multiply(self.least, other.least), multiply(self.most, other.most))

    def scaled(self, factor: float) -> "Estimate":
        """Return a multiple, rounded up."""
        return Estimate(scale(self.least, factor), scale(self.most, factor))

    def union(self, other: "Estimate") -> "Estimate":
        """Return the range that covers both."""
        return Estimate(min(self.least, other.least), max(self.most, other.most))


def exactly(amount: int) -> Estimate:
    """Return an estimate that is certain."""
    return Estimate(amount, amount)


UNKNOWN = Estimate(0, LIMIT)
ZERO = exactly(0)
ONE = exactly(1)
