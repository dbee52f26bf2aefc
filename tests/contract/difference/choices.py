"""`Choices`: the seeded random choices of a scenario generator."""

import random  # noqa: TID251 - a generator of tests needs more shapes of chance than the library
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Choices:
    """Random choices; equal seeds make equal choices."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing here protects a secret

    def chance(self, probability: float) -> bool:
        """Return true with that probability."""
        return self._random.random() < probability

    def pick(self, *choices: T) -> T:
        """Choose one."""
        return self._random.choice(choices)

    def of(self, choices: Sequence[T]) -> T:
        """Choose one of a sequence."""
        return self._random.choice(choices)

    def weighted(self, choices: dict[T, int]) -> T:
        """Choose one, weighted."""
        return self._random.choices(list(choices), weights=list(choices.values()))[0]

    def some(self, choices: Sequence[T], low: int = 0, high: int | None = None) -> list[T]:
        """Choose several different ones."""
        limit = len(choices) if high is None else min(high, len(choices))
        return self._random.sample(list(choices), self._random.randint(min(low, limit), limit))

    def number(self, low: int, high: int) -> int:
        """Choose a number, both ends included."""
        return self._random.randint(low, high)

    def maybe(self, document: dict[str, Any], probability: float, **parts: Callable[[], Any]) -> None:
        """Return a document that contains each part with that probability."""
        for name, make in parts.items():
            if self.chance(probability):
                document[name] = make()

    def part_of(self, value: Any, keep: float = 0.6) -> Any:
        """Return a document without some of its parts, at any depth."""
        if isinstance(value, dict):
            return {key: self.part_of(part, keep) for key, part in value.items() if self.chance(keep)}
        if isinstance(value, list):
            return [self.part_of(item, max(keep, 0.8)) for item in value if self.chance(keep)]
        return value
