"""From a change of some object to the keys of the objects to reconcile."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from steersman.controller.predicates import Predicate, always, meaningful
from steersman.informer.changes import Change, Updated, record_of
from steersman.informer.reader import StoreReader
from steersman.informer.record import Record
from steersman.objects.codec import decode
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, resource_of

K = TypeVar("K", bound=KubeObject)

#: Gives the keys of the objects to reconcile for a record of another kind.
Mapper: TypeAlias = Callable[[Record], Iterable[ObjectKey]]
#: The same as an author writes it, with a typed object; a key may be written as ``namespace/name``.
TypedMapper: TypeAlias = Callable[[K], Iterable[ObjectKey | str]]


def to_itself(record: Record) -> Iterable[ObjectKey]:
    """Reconcile the object that changed."""
    return (record.key,)


def to_controller(owner: GroupVersionKind, *, namespaced: bool) -> Mapper:
    """Reconcile the owner of that kind which controls the object that changed."""

    def mapper(record: Record) -> Iterable[ObjectKey]:
        reference = record.controller
        if reference is None or reference.kind != owner.kind:
            return ()
        # An owner may be referred to by any version of its group.
        if reference.api_version.rpartition("/")[0] != owner.group:
            return ()
        return (ObjectKey(record.key.namespace if namespaced else "", reference.name),)

    return mapper


def to_mapped(kind: type[K], function: TypedMapper[K]) -> Mapper:
    """Reconcile what the author's function gives for the object that changed."""

    def mapper(record: Record) -> Iterable[ObjectKey]:
        found = function(decode(kind, record.data))
        return [ObjectKey.parse(key) if isinstance(key, str) else key for key in found]

    return mapper


def to_choosers(reconciled: StoreReader[Any], kind: type[K], chooses: Callable[[Any, K], bool]) -> Mapper:
    """Reconcile the objects that choose the one that changed: all that are reconciled are asked."""
    namespaced = resource_of(reconciled.kind).namespaced

    def mapper(record: Record) -> Iterable[ObjectKey]:
        changed = decode(kind, record.data)
        place = (record.key.namespace or None) if namespaced else None
        return [one.key for one in reconciled.list(namespace=place) if chooses(one, changed)]

    return mapper


class Watch(Struct, frozen=True):
    """A kind to watch beside the reconciled one: ``Watch(ConfigMap, to=lambda cm: ["ns/name"])``."""

    kind: type[KubeObject]
    #: Gives the keys to reconcile for an object of that kind.
    to: Callable[[Any], Iterable[ObjectKey | str]]
    when: Predicate = always
    #: Do not wait for a kind that is not served (yet), nor fail because of it.
    optional: bool = False


class Chosen(Struct, frozen=True):
    """A kind whose objects are chosen by the reconciled ones: ``Chosen(Pod, by=lambda service, pod: …)``.

    When such an object changes, those that choose it, or chose it before, are reconciled. Where both kinds are
    namespaced only those of the same namespace are asked. Asking decodes each of them, so let ``when`` drop what does
    not matter.
    """

    kind: type[KubeObject]
    #: Tells whether a reconciled object, the first, has to do with one of that kind, the second.
    by: Callable[[Any, Any], bool]
    when: Predicate = always
    #: Do not wait for a kind that is not served (yet), nor fail because of it.
    optional: bool = False


class Trigger(Struct, frozen=True):
    """One watched kind of a controller: which of its changes matter, and what they ask for."""

    kind: type[KubeObject]
    mapper: Mapper
    when: Predicate = meaningful
    optional: bool = False

    def keys(self, change: Change) -> list[ObjectKey]:
        """Give the keys that a change asks for: for an update those of both states, since it may have moved."""
        if not self.when(change):
            return []
        keys = dict.fromkeys(self.mapper(record_of(change)))
        if isinstance(change, Updated) and not change.is_resync:
            keys.update(dict.fromkeys(self.mapper(change.old)))
        return list(keys)
