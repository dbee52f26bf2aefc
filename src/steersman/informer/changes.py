"""What happened to a cached object, as types."""

from typing import TypeAlias

from msgspec import Struct

from steersman.informer.record import Record


class Added(Struct, frozen=True, gc=False):
    """An object is new to whoever is told."""

    new: Record
    #: Whether it was there before the informer, or the handler, began.
    is_initial: bool = False


class Updated(Struct, frozen=True, gc=False):
    """An object changed; both states have the same uid. In a resync they are the same record."""

    old: Record
    new: Record

    @property
    def is_resync(self) -> bool:
        """Whether nothing changed and the handler asked to be told again."""
        return self.old is self.new


class Deleted(Struct, frozen=True, gc=False):
    """An object is gone. Its record is the last state known, with the version of the deletion where that was seen."""

    old: Record
    #: False when its absence was found by listing again: its last changes, and when it went, were not seen.
    was_observed: bool = True


Change: TypeAlias = Added | Updated | Deleted


def record_of(change: Change) -> Record:
    """Give the newest state that a change speaks of."""
    return change.old if isinstance(change, Deleted) else change.new
