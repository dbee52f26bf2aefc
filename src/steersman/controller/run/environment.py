"""`ReconcileEnvironment`: what the runs of one controller share, beside the options of the controller."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from steersman.controller.keys.dynamic_watches import DynamicWatches
from steersman.controller.keys.key_state import KeyStates
from steersman.controller.options import ControllerOptions
from steersman.controller.run.applied_intents import AppliedIntents
from steersman.controller.run.external_writes import ExternalWrites
from steersman.informer.informer import Informer
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, resource_of

K = TypeVar("K", bound=KubeObject)

_SECRET = GroupVersionKind("", "v1", "Secret")


class Caches(Protocol):
    """The caches of a controller."""

    def find(self, kind: type[K]) -> Informer[K] | None:
        """Return the cache of a kind that the controller watches."""


class ReconcileEnvironment(Struct, frozen=True):
    """What all runs of one controller share."""

    options: ControllerOptions
    caches: Caches
    applied: AppliedIntents
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
