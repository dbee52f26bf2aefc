"""Which changes matter. A predicate sees records, so that deciding costs no decoding.

The default for the reconciled kind lets everything pass but changes of the status alone: a controller's own status
writes do not trigger it again.
"""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from steersman.informer.changes import Added, Change, Deleted, Updated
from steersman.objects.codec import decode
from steersman.objects.resource import KubeObject

K = TypeVar("K", bound=KubeObject)

Predicate: TypeAlias = Callable[[Change], bool]


def always(_: Change) -> bool:
    """Let every change pass."""
    return True


def generation_changed(change: Change) -> bool:
    """Let pass what is new, gone, repeated, or of another generation; a kind without generations passes always."""
    if not isinstance(change, Updated) or change.is_resync:
        return True
    return change.new.generation == 0 or change.old.generation != change.new.generation


def labels_changed(change: Change) -> bool:
    """Let an update pass if its labels differ."""
    return not isinstance(change, Updated) or change.old.labels != change.new.labels


def annotations_changed(change: Change) -> bool:
    """Let an update pass if its annotations differ."""
    return not isinstance(change, Updated) or change.old.annotations_digest != change.new.annotations_digest


def deletion_changed(change: Change) -> bool:
    """Let an update pass if its deletion was asked for, or its finalizers differ."""
    if not isinstance(change, Updated):
        return True
    old, new = change.old, change.new
    return old.deletion_timestamp != new.deletion_timestamp or old.finalizers != new.finalizers


def any_of(*predicates: Predicate) -> Predicate:
    """Let pass what at least one of them lets pass."""
    return lambda change: any(predicate(change) for predicate in predicates)


def all_of(*predicates: Predicate) -> Predicate:
    """Let pass what all of them let pass."""
    return lambda change: all(predicate(change) for predicate in predicates)


def negate(predicate: Predicate) -> Predicate:
    """Let pass what another does not."""
    return lambda change: not predicate(change)


def on_objects(kind: type[K], test: Callable[[K | None, K | None], bool]) -> Predicate:
    """Decide on typed objects: ``test(old, new)``; ``old`` is None for what is new, ``new`` for what is gone."""

    def predicate(change: Change) -> bool:
        match change:
            case Added(new):
                return test(None, decode(kind, new.data))
            case Updated(old, new):
                return test(decode(kind, old.data), decode(kind, new.data))
            case Deleted(old):
                return test(decode(kind, old.data), None)

    return predicate


#: Generation, deletion, finalizers, labels or annotations changed.
meaningful: Predicate = any_of(generation_changed, deletion_changed, labels_changed, annotations_changed)
