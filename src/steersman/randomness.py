"""Randomness as an injected dependency: uids, name suffixes and jitter come from one source that can be seeded.

The only module that uses ``random``. Tokens and keys come from ``secrets`` instead.
"""

import random
from typing import Any

#: Kubernetes leaves out vowels and look-alikes, so that generated names spell nothing.
SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

#: Six bits of a UUID mark it as random: version 4, variant 1.
_VERSION_4 = 4 << 76 | 2 << 62
_FREE_BITS = ~(15 << 76 | 3 << 62)


class Randomness:
    """A source of uids, suffixes and jitter; equal seeds produce equal sequences."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing here protects a secret

    def reseed(self, seed: int) -> None:
        """Start the sequence of a seed from its beginning."""
        self._random.seed(seed)

    def state(self) -> object:
        """Return the place in the sequence, for `restore`."""
        return self._random.getstate()

    def restore(self, state: Any) -> None:
        """Continue the sequence from a place that `state` returned."""
        self._random.setstate(state)

    def uid(self) -> str:
        """Return a random (version 4) UUID, such as the API server assigns to every object."""
        bits = self._random.getrandbits(128) & _FREE_BITS | _VERSION_4
        digits = f"{bits:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def suffix(self, length: int = 5) -> str:
        """Return the random end of a generated name."""
        return "".join(self._random.choices(SUFFIX_ALPHABET, k=length))

    def between(self, low: float, high: float) -> float:
        """Return a number in [low, high]."""
        return self._random.uniform(low, high)

    def jitter(self, seconds: float, factor: float) -> float:
        """Return a duration extended by a random share of up to ``factor``."""
        return seconds * (1.0 + self._random.random() * factor)
