"""What an operator remembers of objects while it runs: gone with the object, and with the process."""

from collections.abc import Callable
from typing import Any, TypeVar

from steersman.objects.identity import ObjectKey

T = TypeVar("T")


class Memories:
    """One memory for each object of a controller. An object that comes later under the same name has its own."""

    def __init__(self) -> None:
        self._memories: dict[ObjectKey, tuple[str, Any]] = {}

    def of(self, key: ObjectKey, uid: str, make: Callable[[], T]) -> T:
        """Give what is remembered of an object; it is made when there is nothing yet."""
        known = self._memories.get(key)
        if known is None or known[0] != uid:
            known = self._memories[key] = (uid, make())
        memory: T = known[1]
        return memory

    def forget(self, key: ObjectKey) -> None:
        """Remember nothing of an object that is gone."""
        self._memories.pop(key, None)

    def __repr__(self) -> str:
        return f"<Memories of {len(self._memories)}>"
