"""`Reference`: a watched kind whose objects the reconciled ones name, found by an index instead of a scan.

The index is part of the cache of the reconciled kind. It maps each referrer to what it names, and each name to its
referrers::

    Site a ──by──▶ Secret default/tls ◀──by── Site b

so a change of ``Secret default/tls`` finds ``a`` and ``b`` without looking at any other Site.

Why nothing is missed: the index has the references that the cache of the reconciled kind shows. A referrer whose
references the cache does not show yet is triggered by its own change when it arrives, and its run then reads the
referent at least as new as the change that found no referrer. The referent need not exist: names are indexed.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias

from steersman.controller.predicates import Predicate, always
from steersman.controller.triggers import MappingFailed, R_contra, Trigger, W_co, WatchedKind
from steersman.errors import DecodeError
from steersman.informer.informer import Informer
from steersman.informer.record import Record
from steersman.objects.identity import ApiResource, ObjectKey
from steersman.objects.resource import resource_of

#: What a function names: an object by its name or key, several, or none (``None`` or ``""``).
Referents: TypeAlias = ObjectKey | str | Iterable[ObjectKey | str | None] | None


def referent_keys(named: Referents, referent: ApiResource, namespace: str) -> list[ObjectKey]:
    """Return the keys of the objects that a referrer names, each once.

    ``namespace`` is that of the referrer: it completes a name without a namespace. Raise ``ValueError`` for a name that
    cannot be that of a referent.
    """
    if named is None or isinstance(named, (str, ObjectKey)):
        named = (named,)
    keys = (_key(one, referent, namespace) for one in named if one)
    return list(dict.fromkeys(keys))


def _key(named: object, referent: ApiResource, namespace: str) -> ObjectKey:
    kind = referent.gvk.kind
    if isinstance(named, str):
        named = ObjectKey.parse(named)
    if not isinstance(named, ObjectKey):
        raise ValueError(f"{named!r} does not name a {kind}: return its name, 'namespace/name', a list of them or None")  # noqa: TRY004 - a wrong result of the author's function, not a wrong argument
    if not referent.namespaced:
        if named.namespace:
            raise ValueError(f"{named} has a namespace, and {kind} is cluster-scoped: return the name alone")
        return named
    if named.namespace:
        return named
    if not namespace:
        raise ValueError(f"{named} has no namespace, nor has the object that names it: return 'namespace/name'")
    return ObjectKey(namespace, named.name)


class Reference(WatchedKind[R_contra], Generic[R_contra, W_co], frozen=True):
    """A kind whose objects the reconciled ones name: ``Reference(Secret, by=lambda site: site.spec.tls_secret)``.

    When such an object is created, changed or deleted, the objects that name it are reconciled. Finding them costs the
    same however many objects there are.
    """

    kind: type[W_co]
    #: Returns what a reconciled object names: a name (in its own namespace), ``namespace/name``, a list of them or
    #: ``None``. Called once for each version of the object, so it must depend on nothing else.
    by: Callable[[R_contra], Referents]
    when: Predicate = always
    optional: bool = False

    def trigger(self, reconciled: Informer[R_contra], failed: MappingFailed) -> Trigger:
        """Return the trigger of the objects that name the changed one."""
        referent, kind, by = resource_of(self.kind), reconciled.resource.gvk.kind, self.by

        def referents(record: Record) -> list[ObjectKey]:
            try:
                referrer = reconciled.decode(record)
            except DecodeError:
                # The controller reports objects that do not decode, and does not reconcile them.
                return []
            return referent_keys(by(referrer), referent, record.key.namespace)

        def extract(record: Record) -> list[str]:
            try:
                return [str(key) for key in referents(record)]
            except BaseException as error:  # noqa: BLE001 - an author's function must not stop the cache
                failure = error
                failed(kind, record.key, failure)
                return []

        # The declaration outlives its informers, so that its id names the index.
        index = f"references/{referent.gvr}/{id(self)}"
        reconciled.ensure_record_index(index, extract)

        def mapper(record: Record) -> list[ObjectKey]:
            return reconciled.store.keys_by_index(index, str(record.key))

        return Trigger(self.kind, mapper, self.when, self.optional, self, referents)


def missing_referents(trigger: Trigger, cache: Informer[Any], record: Record) -> list[ObjectKey]:
    """Return the objects that a reconciled one names, and that do not exist by a complete cache of their kind."""
    # A cache with a selector does not prove that an object does not exist.
    if trigger.referents is None or cache.is_selective:
        return []
    try:
        keys = list(trigger.referents(record))
    except Exception:  # noqa: BLE001 - it was reported when the cache called the author's function
        return []
    return [key for key in keys if cache.covers_namespace(key.namespace) and cache.store.get(key) is None]
