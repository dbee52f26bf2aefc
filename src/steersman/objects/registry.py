"""Maps kinds to classes: what Go calls a scheme.

Declared classes are registered automatically. A kind has one class; a second one is rejected by name.
"""

import gc
import sys
from collections.abc import Callable, Mapping
from typing import TypeVar
from weakref import WeakValueDictionary

from steersman.errors import DeclarationError
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.resource import KubeObject

K = TypeVar("K", bound=KubeObject)


class Registry:
    """Kind ↔ class, one to one. Classes are held weakly: a class that is no longer used frees its kind."""

    def __init__(self) -> None:
        self._classes: WeakValueDictionary[GroupVersionKind, type[KubeObject]] = WeakValueDictionary()

    def add(self, kind: type[KubeObject]) -> None:
        """Register a declared class; another living class for the same kind is an error."""
        gvk = kind.__resource__.gvk
        known = self._classes.get(gvk)
        if known is not None and not _is_reload(known, kind):
            # The other class may be garbage that only the cycle collector can see (classes are always cyclic).
            del known
            gc.collect()
            known = self._classes.get(gvk)
            if known is not None and not _is_abandoned(known):
                raise DeclarationError(
                    f"{gvk} is declared twice: by {_place(known)} and by {_place(kind)}; a kind has one class"
                )
        self._classes[gvk] = kind

    def find(self, gvk: GroupVersionKind) -> type[KubeObject] | None:
        """Return the class of a kind, if it was declared."""
        return self._classes.get(gvk)

    def declared(self) -> dict[GroupVersionKind, type[KubeObject]]:
        """Return every kind with its class; the result keeps the classes alive."""
        return dict(self._classes)

    def restore(self, declared: Mapping[GroupVersionKind, type[KubeObject]]) -> None:
        """Restore the classes of an earlier ``declared()``, and forget kinds that were declared since."""
        self._classes.clear()
        self._classes.update(declared)

    def __repr__(self) -> str:
        return f"<Registry kinds={len(self._classes)}>"


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_reload(known: type, kind: type) -> bool:
    """Return whether a module was loaded again, rather than declaring a second class of the same name."""
    if _place(known) != _place(kind) or "<locals>" in kind.__qualname__:
        return False
    module = sys.modules.get(kind.__module__)
    # Importlib's own mark of the first run of a module. Then a name that is taken was taken by an earlier line of it.
    is_first_run = getattr(getattr(module, "__spec__", None), "_initializing", False)
    return not (is_first_run and vars(module).get(kind.__name__) is known)


def _is_abandoned(kind: type) -> bool:
    """Return whether a class stood in a module that failed to load, or was removed.

    It may live on: typing caches ``Resource[Spec, Status]``, and a Spec with a method, or on Python 3.14 with
    annotations, refers to all that its module has defined.
    """
    return kind.__module__ not in sys.modules and "<locals>" not in kind.__qualname__


#: The default registry of declarations.
registry = Registry()


def declare(resource: ApiResource, into: Registry = registry) -> Callable[[type[K]], type[K]]:
    """Return a decorator that registers a class as the kind that ``resource`` describes."""

    def decorate(kind: type[K]) -> type[K]:
        kind.__resource__ = resource
        into.add(kind)
        return kind

    return decorate
