"""`CacheGrowth`: when a cache is large enough to warn about it."""

from typing import Final

#: Bytes of cached objects from which a cache counts as large. The process needs about as much memory.
LARGE: Final = 64 * 1024 * 1024


class CacheGrowth:
    """Decides when to warn: once at the limit, and again whenever the cache has doubled since."""

    def __init__(self, limit: int = LARGE) -> None:
        self._limit = limit

    def is_due(self, size: int) -> bool:
        """Return whether a cache of this size needs a warning now; that raises the limit."""
        if size < self._limit:
            return False
        while self._limit <= size:
            self._limit *= 2
        return True
