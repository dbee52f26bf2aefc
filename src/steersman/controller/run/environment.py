"""`ReconcileEnvironment`: what the runs of one controller share, beside the options of the controller."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from steersman.controller.keys.dynamic_watches import DynamicWatches
from steersman.controller.keys.key_state import KeyStates
from steersman.controller.options import ControllerOptions
from steersman.controller.run.applied_intents import AppliedIntents
from steersman.controller.run.contents import Contents
from steersman.controller.run.external_writes import ExternalWrites
from steersman.informer.informer import Informer
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, resource_of

K = TypeVar("K", bound=KubeObject)

_SECRET = GroupVersionKind("", "v1", "Secret")


class Caches(Protocol):
    """The caches of a controller."""

    def find(self, kind: type[K]) -> Informer[K] | None:
        """Return the cache that answers reads of a kind that the controller watches."""

    def owned(self, kind: type[K]) -> Informer[K] | None:
        """Return the cache of the objects that reconciled ones own."""

    def complete(self, kind: type[K], namespace: str) -> Informer[K] | None:
        """Return a cache that has every object of a namespace, be it only their metadata."""

    def hint(self, kind: type[KubeObject]) -> None:
        """Log once that contents of a kind are read from the API server because only metadata is cached."""


class ReconcileEnvironment(Struct, frozen=True):
    """What all runs of one controller share."""

    options: ControllerOptions
    caches: Caches
    #: Labels that owned objects of a kind get, because the cache selects them.
    owned_labels: Mapping[type[KubeObject], Mapping[str, str]]
    applied: AppliedIntents
    #: Contents of kinds whose cache has only metadata.
    contents: Contents
    external_writes: ExternalWrites
    watches: DynamicWatches
    states: KeyStates
    #: Requests another run of an object.
    wake: Callable[[ObjectKey], None]


def covers(informer: Informer[Any], namespace: str, labels: Mapping[str, str]) -> bool:
    """Return whether a cache shows objects of that namespace with those labels."""
    if not informer.covers_namespace(namespace) or informer.selection.field_selector:
        return False
    return informer.label_selector.matches(labels)


def is_secret(kind: type[KubeObject]) -> bool:
    """Return whether a kind is Secret, without importing that kind."""
    return resource_of(kind).gvk == _SECRET
