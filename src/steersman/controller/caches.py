"""`KindCaches`: the caches of one controller, and which of them answers a read.

A kind can be cached more than once, with other scopes. One of these caches answers reads, and is the one whose state
the write barrier waits for, so that a run never reads a cache that does not show its own writes; the others only
trigger.
"""

import logging
from typing import Any, TypeVar

from steersman.informer.informer import Informer
from steersman.objects.resource import KubeObject

K = TypeVar("K", bound=KubeObject)

_log = logging.getLogger("steersman.controller")


class KindCaches:
    """Caches by kind."""

    def __init__(self, controller: str, reconciled: type[KubeObject]) -> None:
        self._controller = controller
        self._reconciled = reconciled
        self._caches: dict[type[KubeObject], list[Informer[Any]]] = {}
        self._owned: dict[type[KubeObject], Informer[Any]] = {}
        #: Kinds whose contents were read from the API server though their metadata is cached.
        self._hinted: set[type[KubeObject]] = set()

    def add(self, kind: type[KubeObject], cache: Informer[Any], *, owned: bool = False) -> None:
        """Add a cache of a kind. Reads use the fullest; of the reconciled kind, that of the reconciled objects."""
        caches = self._caches.setdefault(kind, [])
        if cache not in caches:
            caches.append(cache)
            if kind is not self._reconciled:
                caches.sort(key=_emptiness)
        if owned:
            self._owned[kind] = cache

    def find(self, kind: type[K]) -> Informer[K] | None:
        """Return the cache that answers reads of a kind."""
        caches = self._caches.get(kind)
        return caches[0] if caches else None

    def owned(self, kind: type[K]) -> Informer[K] | None:
        """Return the cache of the objects that reconciled ones own."""
        owned = self._owned.get(kind)
        return self.find(kind) if owned is None else owned

    def complete(self, kind: type[K], namespace: str) -> Informer[K] | None:
        """Return a cache that has every object of a namespace, be it only their metadata."""
        for cache in self._caches.get(kind, ()):
            if not cache.is_selective and cache.covers_namespace(namespace):
                return cache
        return None

    def hint(self, kind: type[KubeObject]) -> None:
        """Log once that contents of a kind are read from the API server because only metadata is cached."""
        cache = self.find(kind)
        if cache is not None and cache.selection.metadata_only and kind not in self._hinted:
            self._hinted.add(kind)
            _log.info(
                "contents are read from the API server, because only metadata is cached: "
                "pass metadata_only=False to the watch to cache them",
                extra={"controller": self._controller, "kind": kind.__name__},
            )


def _emptiness(cache: Informer[Any]) -> tuple[bool, bool, int, bool]:
    selection = cache.selection
    requirements = len(cache.label_selector.requirements)
    return selection.metadata_only, bool(selection.field_selector), requirements, bool(selection.namespaces)
