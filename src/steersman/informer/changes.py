"""Changes of a cached object, as types."""

from typing import TypeAlias

from msgspec import Struct

from steersman.informer.record import Record


class Added(Struct, frozen=True, gc=False):
    """An object is new to the handler."""

    new: Record
    #: Whether it existed before the informer, or the handler, started.
    is_initial: bool = False


class Updated(Struct, frozen=True, gc=False):
    """An object changed; both states have the same uid. In a resync they are the same record."""

    old: Record
    new: Record

    @property
    def is_resync(self) -> bool:
        """Whether nothing changed, and the handler asked for periodic resyncs."""
        return self.old is self.new


class Deleted(Struct, frozen=True, gc=False):
    """An object was deleted. The record is its last known state, with the version of the deletion if that was seen."""

    old: Record
    #: False if a list showed that it does not exist any more: its last changes and the deletion itself were not seen.
    was_observed: bool = True


Change: TypeAlias = Added | Updated | Deleted


def record_of(change: Change) -> Record:
    """Return the newest state in a change."""
    return change.old if isinstance(change, Deleted) else change.new
