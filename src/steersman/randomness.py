"""Chance as a collaborator: uids, name suffixes and jitter come from one source that can be seeded.

The only module that touches ``random``. Tokens and keys are not made here: those come from ``secrets``.
"""

import random

#: Kubernetes leaves out vowels and look-alikes, so that generated names spell nothing.
SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

#: A UUID says in six of its bits that it is random: version 4, variant 1.
_VERSION_4 = 4 << 76 | 2 << 62
_FREE_BITS = ~(15 << 76 | 3 << 62)


class Randomness:
    """A source of uids, suffixes and jitter; equal seeds give equal sequences."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing here protects a secret

    def reseed(self, seed: int) -> None:
        """Start the sequence of a seed from its beginning."""
        self._random.seed(seed)

    def uid(self) -> str:
        """Give a random (version 4) UUID, as the API server gives every object."""
        bits = self._random.getrandbits(128) & _FREE_BITS | _VERSION_4
        digits = f"{bits:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def suffix(self, length: int = 5) -> str:
        """Give the random end of a generated name."""
        return "".join(self._random.choices(SUFFIX_ALPHABET, k=length))

    def between(self, low: float, high: float) -> float:
        """Give a number in [low, high]."""
        return self._random.uniform(low, high)

    def jitter(self, seconds: float, factor: float) -> float:
        """Stretch a duration by a random share of up to ``factor``."""
        return seconds * (1.0 + self._random.random() * factor)
