"""Predicates: which changes trigger a reconcile. They get records, so that no object has to be decoded.

The default for the reconciled kind, ``meaningful``, passes everything except changes of the status alone: a
controller's own status writes do not trigger it again.
"""

from collections.abc import Callable
from typing import TypeAlias, TypeVar, cast

from steersman.informer.changes import Added, Change, Deleted, Updated
from steersman.informer.record import Record
from steersman.objects.codec import decode
from steersman.objects.resource import KubeObject, PartialObjectMetadata

K = TypeVar("K", bound=KubeObject)

Predicate: TypeAlias = Callable[[Change], bool]


def typed(kind: type[K], record: Record) -> K:
    """Return a cached object; one of which only the metadata is cached is a ``PartialObjectMetadata``.

    Decoding it as its own kind would show empty content where there is some.
    """
    if record.is_metadata_only:
        return cast("K", decode(PartialObjectMetadata, record.data))
    return decode(kind, record.data)


def always(_: Change) -> bool:
    """Pass every change."""
    return True


def generation_changed(change: Change) -> bool:
    """Pass creations, deletions, resyncs and new generations; kinds without generations always pass."""
    if not isinstance(change, Updated) or change.is_resync:
        return True
    return change.new.generation == 0 or change.old.generation != change.new.generation


def labels_changed(change: Change) -> bool:
    """Pass updates that change labels; creations and deletions always pass."""
    return not isinstance(change, Updated) or change.old.labels != change.new.labels


def annotations_changed(change: Change) -> bool:
    """Pass updates that change annotations; creations and deletions always pass."""
    return not isinstance(change, Updated) or change.old.annotations_digest != change.new.annotations_digest


def deletion_changed(change: Change) -> bool:
    """Pass updates that begin the deletion or change finalizers; creations and deletions always pass."""
    if not isinstance(change, Updated):
        return True
    old, new = change.old, change.new
    return old.deletion_timestamp != new.deletion_timestamp or old.finalizers != new.finalizers


def any_of(*predicates: Predicate) -> Predicate:
    """Pass changes that at least one predicate passes."""
    return lambda change: any(predicate(change) for predicate in predicates)


def all_of(*predicates: Predicate) -> Predicate:
    """Pass changes that all predicates pass."""
    return lambda change: all(predicate(change) for predicate in predicates)


def negate(predicate: Predicate) -> Predicate:
    """Pass changes that the predicate does not pass."""
    return lambda change: not predicate(change)


def on_objects(kind: type[K], test: Callable[[K | None, K | None], bool]) -> Predicate:
    """Pass by a test of typed objects: ``test(old, new)``; ``old`` is None for a creation, ``new`` for a deletion."""

    def predicate(change: Change) -> bool:
        match change:
            case Added(new):
                return test(None, typed(kind, new))
            case Updated(old, new):
                return test(typed(kind, old), typed(kind, new))
            case Deleted(old):
                return test(typed(kind, old), None)

    return predicate


def meaningful(change: Change) -> bool:
    """Pass changes of the generation, deletion, finalizers, labels or annotations: all but those of the status."""
    return (
        generation_changed(change) or deletion_changed(change) or labels_changed(change) or annotations_changed(change)
    )
