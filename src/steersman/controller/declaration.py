"""`Reconciler`: a declared function that reconciles a kind, its cleanup, and the kinds that trigger it."""

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from steersman.controller.context import Context
from steersman.controller.owned import Owned
from steersman.controller.predicates import Predicate, always, meaningful
from steersman.controller.scope import Scope
from steersman.controller.triggers import MappingFailed, Trigger, WatchedKind, to_controller, to_itself
from steersman.errors import DeclarationError
from steersman.informer.informer import Informer
from steersman.objects.identity import ApiResource
from steersman.objects.resource import KubeObject, resource_of

if sys.version_info >= (3, 14):
    import annotationlib

K = TypeVar("K", bound=KubeObject)

#: The author's function; a plain ``def`` runs in a thread.
ReconcileFunction: TypeAlias = Callable[[K, Context[K]], Awaitable[None] | None]
#: Called with every failure of a run; an exception that it raises replaces the failure.
ErrorFunction: TypeAlias = Callable[[K, Context[K], BaseException], Awaitable[None] | None]


def check_function(function: Callable[..., object], arguments: tuple[str, ...], what: str) -> None:
    """Reject a function that cannot be called with these arguments, or whose body would never run."""
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function):
        raise DeclarationError(f"{name} is not a function: {what} is declared as a decorator of one")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DeclarationError(f"{name} contains a yield, so that calling it runs nothing: {what} awaits or returns")
    try:
        signature = _signature(function)
    except (TypeError, ValueError):
        # Some functions of C extensions have no signature.
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        wanted = f"{getattr(function, '__name__', 'function')}({', '.join(arguments)})"
        raise DeclarationError(
            f"{name}{signature} cannot be called with {len(arguments)} arguments; {what} is declared as "
            f"async def {wanted} or def {wanted}"
        ) from None


def _signature(function: Callable[..., object]) -> inspect.Signature:
    """Return the signature; its annotations may name types that are imported for type checkers only."""
    if sys.version_info >= (3, 14):
        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


class ReconcilerOptions(Struct, frozen=True, kw_only=True):
    """How a kind is reconciled."""

    #: Kinds whose objects trigger their controller, each with the scope of its cache.
    owned: tuple[Owned, ...] = ()
    #: Kinds whose objects trigger others, by a function.
    watches: tuple[WatchedKind[Any], ...] = ()
    #: Kinds whose objects a run may wait for (``Blocked``): a single object is watched while a run waits for it.
    waits_for: tuple[type[KubeObject], ...] = ()
    #: Which changes of the reconciled kind matter.
    when: Predicate = meaningful
    #: Which changes of owned kinds matter.
    owns_when: Predicate = always
    #: Returns the rank of an object: objects of a higher one are reconciled first. ``None`` for 0.
    priority: Callable[[Any], int] | None = None
    #: Number of objects that are reconciled at the same time.
    workers: int = 1
    #: Time limit of one run in seconds.
    timeout: float | None = None
    #: Seconds between reconciles of every object even if nothing changed.
    resync: float | None = None
    #: Only objects with these labels.
    selector: str = ""
    #: Start even if the kind is not served (yet).
    optional: bool = False
    #: Call the function for objects that are being deleted as well.
    while_deleting: bool = False
    #: Report runs that keep failing by the Ready condition and an event.
    report_failures: bool = True
    #: Set the conditions Ready, Reconciling and Stalled as kstatus defines them.
    kstatus: bool = False
    #: Time limit, in seconds, of holding a key back until the cache shows what its last run wrote.
    hold: float = 10.0

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise DeclarationError(f"workers must be at least 1, got {self.workers}")
        for name, seconds in (("timeout", self.timeout), ("resync", self.resync), ("hold", self.hold)):
            if seconds is not None and seconds <= 0:
                raise DeclarationError(f"{name} must be positive, got {seconds}")
        for owned in self.owned:
            owned.check(resource_of(owned.kind))
        for watch in self.watches:
            watch.check(resource_of(watch.kind))

    @property
    def owns(self) -> tuple[type[KubeObject], ...]:
        """Kinds whose objects trigger the one that controls them."""
        return tuple(owned.kind for owned in self.owned)


class Reconciler(Generic[K]):
    """A declared reconciler. Calling it calls the author's function."""

    def __init__(
        self,
        name: str,
        kind: type[K],
        function: ReconcileFunction[K],
        *,
        finalizer: str,
        options: ReconcilerOptions | None = None,
    ) -> None:
        check_function(function, ("object", "ctx"), "a reconciler")
        self.name = name
        self.kind = kind
        self.resource: ApiResource = resource_of(kind)
        self.function = function
        self.options = options if options is not None else ReconcilerOptions()
        self.cleanup_function: ReconcileFunction[K] | None = None
        self.error_function: ErrorFunction[K] | None = None
        self.finalizer = finalizer
        #: Which objects are reconciled.
        self.scope = Scope(selector=self.options.selector)

    def __call__(self, obj: K, ctx: Context[K]) -> Awaitable[None] | None:
        """Call the author's function."""
        return self.function(obj, ctx)

    def cleanup(self, function: ReconcileFunction[K]) -> ReconcileFunction[K]:
        """Declare the cleanup before an object is deleted; with it the finalizer is added and removed automatically."""
        if self.cleanup_function is not None:
            raise DeclarationError(f"{self.name} has a cleanup already")
        check_function(function, ("object", "ctx"), "a cleanup")
        self.cleanup_function = function
        return function

    def on_error(self, function: ErrorFunction[K]) -> ErrorFunction[K]:
        """Declare a handler of failures: ``(obj, ctx, error)``; an exception that it raises replaces the failure."""
        if self.error_function is not None:
            raise DeclarationError(f"{self.name} has an on_error already")
        check_function(function, ("object", "ctx", "error"), "an on_error")
        self.error_function = function
        return function

    def triggers(self, reconciled: Informer[K], failed: MappingFailed) -> Iterable[Trigger]:
        """Yield the triggers of this reconciler, that of the kind itself first; ``reconciled`` is its cache."""
        options = self.options
        yield Trigger(self.kind, to_itself, options.when, options.optional, self.scope)
        to_owner = to_controller(self.resource.gvk, namespaced=self.resource.namespaced)
        for owned in options.owned:
            yield Trigger(owned.kind, to_owner, owned.when or options.owns_when, scope=owned)
        for watch in options.watches:
            trigger = watch.trigger(reconciled, failed)
            # A watch of the reconciled kind itself that selects nothing is about the reconciled objects.
            is_own = trigger.kind is self.kind and not watch.is_limited
            yield replace(trigger, scope=self.scope) if is_own else trigger

    def __repr__(self) -> str:
        return f"<Reconciler {self.name} of {self.resource.gvk}>"
