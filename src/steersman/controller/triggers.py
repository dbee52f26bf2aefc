"""Triggers: from a change of a watched object to the keys of the objects to reconcile."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from steersman.controller.predicates import Predicate, always, meaningful, typed
from steersman.controller.scope import EVERYTHING, Scope
from steersman.informer.changes import Change, Updated, record_of
from steersman.informer.informer import Informer
from steersman.informer.reader import StoreReader
from steersman.informer.record import Record
from steersman.objects.identity import ApiResource, GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, PartialObjectMetadata, resource_of

K = TypeVar("K", bound=KubeObject)
#: The reconciled kind. Contravariant: a watch that can trigger every kind can trigger each one.
R_contra = TypeVar("R_contra", bound=KubeObject, contravariant=True)
#: The watched kind. Covariant, so that a list of watches of several kinds is one of watches, not of objects: only a
#: watch itself calls its function, with objects of its own kind.
W_co = TypeVar("W_co", bound=KubeObject, covariant=True)

#: Returns the keys of the objects to reconcile for a record of another kind.
Mapper: TypeAlias = Callable[[Record], Iterable[ObjectKey]]
#: The same for authors, with a typed object; a key may be written as ``namespace/name``.
TypedMapper: TypeAlias = Callable[[K], Iterable[ObjectKey | str]]
#: Called if an author's function fails for an object, outside of a change: with the kind, the key and the error.
MappingFailed: TypeAlias = Callable[[str, ObjectKey, BaseException], None]


#: Kinds that are large or secret, and of which an operator rarely needs the content of all objects.
_METADATA_ONLY: Final = frozenset({GroupVersionKind("", "v1", "Secret"), GroupVersionKind("", "v1", "ConfigMap")})


@contextmanager
def _hint(changed: KubeObject, kind: type[KubeObject]) -> Iterator[None]:
    """Add advice to the error of a function that reads the content of an object of which only metadata is cached."""
    try:
        yield
    except AttributeError as error:
        if isinstance(changed, PartialObjectMetadata):
            error.add_note(f"{kind.__name__} objects are cached without content here: pass metadata_only=False")
        raise


def to_itself(record: Record) -> Iterable[ObjectKey]:
    """Return the key of the changed object itself."""
    return (record.key,)


def to_controller(owner: GroupVersionKind, *, namespaced: bool) -> Mapper:
    """Return a mapper to the owner of a kind that controls the changed object."""

    def mapper(record: Record) -> Iterable[ObjectKey]:
        reference = record.controller
        if reference is None or reference.kind != owner.kind:
            return ()
        # An owner reference may have any version of the group.
        if reference.api_version.rpartition("/")[0] != owner.group:
            return ()
        return (ObjectKey(record.key.namespace if namespaced else "", reference.name),)

    return mapper


def to_mapped(kind: type[K], function: TypedMapper[K]) -> Mapper:
    """Return a mapper to the keys that the author's function returns for the changed object."""

    def mapper(record: Record) -> Iterable[ObjectKey]:
        changed = typed(kind, record)
        with _hint(changed, kind):
            return [ObjectKey.parse(key) if isinstance(key, str) else key for key in function(changed)]

    return mapper


def to_choosers(reconciled: StoreReader[R_contra], kind: type[K], chooses: Callable[[R_contra, K], bool]) -> Mapper:
    """Return a mapper to the objects that choose the changed one; the function is called for each reconciled object."""
    namespaced = resource_of(reconciled.kind).namespaced

    def mapper(record: Record) -> Iterable[ObjectKey]:
        changed = typed(kind, record)
        place = (record.key.namespace or None) if namespaced else None
        with _hint(changed, kind):
            return [one.key for one in reconciled.list(namespace=place) if chooses(one, changed)]

    return mapper


class Trigger(Struct, frozen=True):
    """One watched kind of a controller: which of its changes matter, and which keys they trigger."""

    kind: type[KubeObject]
    mapper: Mapper
    when: Predicate = meaningful
    optional: bool = False
    #: Which objects of the kind are watched.
    scope: Scope = EVERYTHING
    #: Returns the keys of the watched objects that a reconciled one names, for a `Reference`.
    referents: Mapper | None = None

    @property
    def is_own(self) -> bool:
        """Whether it is that of the reconciled objects themselves."""
        return self.mapper is to_itself

    def keys(self, change: Change) -> list[ObjectKey]:
        """Return the keys that a change triggers; for an update those of both states, which may differ."""
        if not self.when(change):
            return []
        keys = dict.fromkeys(self.mapper(record_of(change)))
        if isinstance(change, Updated) and not change.is_resync:
            keys.update(dict.fromkeys(self.mapper(change.old)))
        return list(keys)


class WatchedKind(Scope, Generic[R_contra], frozen=True):
    """A kind to watch for reconcilers of another kind: the common part of `Watch`, `Chosen` and `Reference`.

    Of Secrets and ConfigMaps only the metadata is cached unless ``metadata_only`` is false: there are many, they are
    large, and most reconcilers need to know only that one changed. Functions then get ``PartialObjectMetadata``.

    Only the reconciled kind is a parameter. If the watched kind were one too, type checkers would not infer it from
    the arguments of a ``Watch`` or ``Chosen`` inside a list, and mistakes in its function would pass.
    """

    @property
    def kind(self) -> type[KubeObject]:
        """Watched kind."""
        raise NotImplementedError

    @property
    def optional(self) -> bool:
        """Whether the operator starts even if the kind is not served (yet)."""
        raise NotImplementedError

    def is_metadata_only(self, resource: ApiResource) -> bool:
        """Return whether only the metadata of the watched kind is cached."""
        return resource.gvk in _METADATA_ONLY if self.metadata_only is None else self.metadata_only

    def trigger(self, reconciled: Informer[R_contra], failed: MappingFailed) -> Trigger:
        """Return the trigger for changes of this kind, given the cache of the reconciled one."""
        raise NotImplementedError


class Watch(WatchedKind[KubeObject], Generic[W_co], frozen=True):
    """A kind whose objects name what to reconcile: ``Watch(ConfigMap, to=lambda config: [config.labels["app"]])``."""

    kind: type[W_co]
    #: Returns the keys to reconcile for an object of that kind; ``namespace/name``, or the name alone.
    to: Callable[[W_co], Iterable[ObjectKey | str]]
    when: Predicate = always
    optional: bool = False

    def trigger(self, reconciled: Informer[KubeObject], failed: MappingFailed) -> Trigger:
        """Return the trigger of the objects that the function names."""
        del reconciled, failed
        return Trigger(self.kind, to_mapped(self.kind, self.to), self.when, self.optional, self)


class Chosen(WatchedKind[R_contra], Generic[R_contra, W_co], frozen=True):
    """A kind whose objects are chosen by the reconciled ones: ``Chosen(Pod, by=lambda service, pod: …)``.

    When such an object changes, the reconciled objects that choose it, or chose it before, are reconciled. If both
    kinds are namespaced, only objects of the same namespace are considered. Each of them is decoded for that, so let
    ``when`` drop changes that do not matter; where the reconciled object names the other one, use ``Reference``.
    """

    kind: type[W_co]
    #: Returns whether a reconciled object, the first, chooses one of that kind, the second.
    by: Callable[[R_contra, W_co], bool]
    when: Predicate = always
    optional: bool = False

    def trigger(self, reconciled: Informer[R_contra], failed: MappingFailed) -> Trigger:
        """Return the trigger of the objects that choose the changed one."""
        del failed
        return Trigger(self.kind, to_choosers(reconciled, self.kind, self.by), self.when, self.optional, self)
