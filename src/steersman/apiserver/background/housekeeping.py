"""`Housekeeping`: everything that is done for a cluster's objects, together."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from steersman.apiserver.background.chores import Chores
from steersman.apiserver.background.furnishing import Furnishing
from steersman.apiserver.background.garbage import GarbageCollector
from steersman.apiserver.background.hand import Hand
from steersman.apiserver.background.namespaces import NamespaceCleaner
from steersman.apiserver.background.tokens import TokenCleaner
from steersman.apiserver.storage.history import Event


class Housekeeper(Protocol):
    """One kind of work: it looks at everything once, and from then on at what is written."""

    def begin(self) -> None:
        """Look at everything that is there."""

    def observe(self, event: Event) -> None:
        """Take note of a write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HousekeepingOptions:
    """What the housekeeping of one server needs to know."""

    #: The PEM certificate of the server's authority, told in every namespace; a server without one tells nothing.
    root_certificate: bytes | None = None


def controllers(hand: Hand, chores: Chores, options: HousekeepingOptions) -> tuple[Housekeeper, ...]:
    """Give the work that a kube-controller-manager does for the objects of the API itself."""
    return (
        NamespaceCleaner(hand, chores),
        Furnishing(hand, chores, root_certificate=options.root_certificate),
        TokenCleaner(hand, chores),
        GarbageCollector(hand, chores),
    )


class Housekeeping:
    """Tells every write to those who follow up on it, and has their chores done."""

    def __init__(self, keepers: Iterable[Housekeeper], chores: Chores) -> None:
        self._keepers = tuple(keepers)
        self._chores = chores

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to be done."""
        return not self._chores

    def begin(self) -> None:
        """Look at everything that is there, and do what is to be done before anybody is served."""
        self._chores.clear()
        for keeper in self._keepers:
            keeper.begin()
        self._chores.run()

    def observe(self, event: Event) -> None:
        """Take note of a write; what follows from it is done in the next turn of the event loop."""
        for keeper in self._keepers:
            keeper.observe(event)
