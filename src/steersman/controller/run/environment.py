"""What a reconcile works with: the client, the caches, the clock, and who is told of its writes."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.controller.keys.dynamic_watches import DynamicWatches
from steersman.controller.keys.key_state import Memories
from steersman.controller.run.applied_intents import AppliedIntents
from steersman.controller.run.external_writes import ExternalWrites
from steersman.informer.informer import Informer
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, Unstructured, resource_of
from steersman.transport.services import HttpServices

K = TypeVar("K", bound=KubeObject)

_SECRET = GroupVersionKind("", "v1", "Secret")


class Caches(Protocol):
    """Where the replicas of a controller are found."""

    def find(self, kind: type[K]) -> Informer[K] | None:
        """Give the replica of a kind that the controller watches."""


EventKind: TypeAlias = Literal["Normal", "Warning"]


class Events(Protocol):
    """Who tells people what happened to objects."""

    def record(self, obj: KubeObject | Unstructured, type_: EventKind, reason: str, note: str) -> None:
        """Tell; never waits and never raises."""


class Surroundings(Struct, frozen=True):
    """What all reconciles of one controller share."""

    #: Writes under the operator's own field manager.
    client: Client
    caches: Caches
    clock: Clock
    events: Events
    applied: AppliedIntents
    services: HttpServices
    external_writes: ExternalWrites
    followings: DynamicWatches
    memories: Memories
    #: Asks for another run of an object.
    wake: Callable[[ObjectKey], None]


def covers(informer: Informer[Any], namespace: str, labels: Mapping[str, str]) -> bool:
    """Tell whether a replica will ever show an object of that namespace with those labels."""
    if not informer.covers_namespace(namespace) or informer.selection.field_selector:
        return False
    return informer.label_selector.matches(labels)


def is_secret(kind: type[KubeObject]) -> bool:
    """Return whether objects of a kind are Secrets, without importing that kind."""
    return resource_of(kind).gvk == _SECRET
