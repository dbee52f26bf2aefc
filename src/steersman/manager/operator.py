"""`Operator`: what an author declares in one place, and runs three ways with the same code."""

from collections.abc import Awaitable, Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.controller.declaration import ReconcileFunction, Reconciler, ReconcilerOptions
from steersman.controller.predicates import Predicate, always, meaningful
from steersman.controller.triggers import WatchedKind
from steersman.errors import DeclarationError
from steersman.manager.permission import Permission
from steersman.manager.runnable import Runnable
from steersman.objects.resource import KubeObject, resource_of
from steersman.webhook.declarations import AdmissionDeclarations

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

K = TypeVar("K", bound=KubeObject)

#: Work of an operator that no object asks for, with its client and its clock.
BackgroundFunction: TypeAlias = Callable[[Client, Clock], Awaitable[None]]


class Operator(AdmissionDeclarations):
    """Reconcilers, webhooks and rules with one name: that of the operator's field manager, and of its lease."""

    def __init__(self, name: str) -> None:
        super().__init__()
        if not name:
            raise DeclarationError("an operator needs a name")
        self.name = name
        self._reconcilers: list[Reconciler[Any]] = []
        self._servers: list[Runnable] = []
        self._background: list[BackgroundFunction] = []
        self._declared: list[type[KubeObject]] = []
        self._permissions: list[Permission] = []
        self._declined: list[Permission] = []

    def reconciler(  # noqa: PLR0913 - the author's options, each by its name, where the author reads them
        self,
        kind: type[K],
        *,
        owns: Iterable[type[KubeObject]] = (),
        watches: Iterable[WatchedKind[K]] = (),
        waits_for: Iterable[type[KubeObject]] = (),
        when: Predicate = meaningful,
        owns_when: Predicate = always,
        workers: int = 1,
        timeout: float | None = None,
        resync: float | None = None,
        selector: str = "",
        optional: bool = False,
        while_deleting: bool = False,
        report_failures: bool = True,
        name: str = "",
        finalizer: str = "",
    ) -> Callable[[ReconcileFunction[K]], Reconciler[K]]:
        """Decorate the function that reconciles objects of a kind.

        ``owns`` lists kinds whose objects trigger the one that controls them, ``watches`` others with a function that
        returns the keys to reconcile, ``waits_for`` kinds that are not watched but that a run may wait for by raising
        ``Blocked``. ``when`` decides which changes of the kind itself matter: by default all but those of the status
        alone. ``workers`` objects are reconciled at the same time, each for at most ``timeout`` seconds, and all of
        them every ``resync`` seconds. An ``optional`` kind need not be served. ``while_deleting`` calls the function
        for objects that are being deleted as well, to finish their deletion; it replaces a cleanup. Runs that keep
        failing set the condition Ready=False and record an event unless ``report_failures`` is off. The names are those
        of the controller in logs and metrics, and of the finalizer that a cleanup needs.
        """
        _check_kind(kind)
        options = ReconcilerOptions(
            owns=_kinds(owns, "owns"),
            watches=tuple(watches),
            waits_for=_kinds(waits_for, "waits_for"),
            when=when,
            owns_when=owns_when,
            workers=workers,
            timeout=timeout,
            resync=resync,
            selector=selector,
            optional=optional,
            while_deleting=while_deleting,
            report_failures=report_failures,
        )

        def decorate(function: ReconcileFunction[K]) -> Reconciler[K]:
            label = name or kind.__name__.lower()
            mark = finalizer or self._finalizer(kind, label)
            declared = Reconciler(label, kind, function, finalizer=mark, options=options)
            self._add(declared)
            return declared

        return decorate

    def declare(self, *kinds: type[KubeObject]) -> None:
        """Add custom kinds that it does not reconcile, such as other versions of one that it does."""
        self._declared.extend(kinds)

    def permit(self, kind: type[KubeObject], *verbs: str, subresource: str = "") -> None:
        """Ask for more than reconcilers imply: ``permit(Secret, "get")`` for one that is read but not watched.

        What is reconciled, owned and watched needs no word here; ``steer manifests`` makes the least role of it all.
        """
        self._permissions.append(Permission(kind, verbs, subresource))

    def decline(self, kind: type[KubeObject], *verbs: str, subresource: str = "") -> None:
        """Give up what reconcilers imply: ``decline(Pod, "delete")`` for an owner that leaves deleting to others."""
        self._declined.append(Permission(kind, verbs, subresource))

    def background(self, function: BackgroundFunction) -> BackgroundFunction:
        """Decorate what runs beside the reconcilers, while they do: ``async def beat(client, clock)``.

        It has the operator's client, and should run for ever: what it raises ends the manager.
        """
        self._background.append(function)
        return function

    @cached_property
    def metrics(self) -> "CollectorRegistry":
        """Where the author's own numbers go, to be served beside ours: ``Counter(…, registry=operator.metrics)``."""
        from prometheus_client import CollectorRegistry  # noqa: PLC0415 - most operators count nothing of their own

        return CollectorRegistry()

    def add_server(self, server: Runnable) -> None:
        """Run something on every replica, before anything else starts: webhooks, an API of the operator's own."""
        self._servers.append(server)

    @property
    def reconcilers(self) -> tuple[Reconciler[Any], ...]:
        """What was declared, in order."""
        return tuple(self._reconcilers)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What was asked for beyond what reconcilers imply."""
        return tuple(self._permissions)

    @property
    def declined(self) -> tuple[Permission, ...]:
        """What was given up of what reconcilers imply."""
        return tuple(self._declined)

    @property
    def background_functions(self) -> tuple[BackgroundFunction, ...]:
        """What runs beside the reconcilers."""
        return tuple(self._background)

    @property
    def servers(self) -> tuple[Runnable, ...]:
        """What runs on every replica."""
        return tuple(self._servers)

    @property
    def kinds(self) -> tuple[type[KubeObject], ...]:
        """Every kind that is reconciled, judged or declared, each once."""
        reconciled = (reconciler.kind for reconciler in self._reconcilers)
        judged = (webhook.kind for webhook in self.webhooks)
        return tuple(dict.fromkeys([*reconciled, *judged, *self._declared]))

    def _finalizer(self, kind: type[KubeObject], label: str) -> str:
        """Name a finalizer: it begins with a domain, which built-in kinds of the core group do not have."""
        return f"{resource_of(kind).gvk.group or f'{self.name}.operator'}/{label}"

    def _add(self, reconciler: Reconciler[Any]) -> None:
        if any(known.name == reconciler.name for known in self._reconcilers):
            raise DeclarationError(f"operator {self.name!r} has two reconcilers named {reconciler.name!r}: name= one")
        for known in self._reconcilers:
            same = (reconciler.resource.gvk, reconciler.options.selector)
            if (known.resource.gvk, known.options.selector) == same:
                raise DeclarationError(
                    f"operator {self.name!r} reconciles {known.resource.gvk} twice, by {known.name!r} and by "
                    f"{reconciler.name!r}, which would overwrite each other's conditions: use one reconciler, "
                    f"or give each a selector"
                )
        self._reconcilers.append(reconciler)

    def __repr__(self) -> str:
        return f"<Operator {self.name} reconcilers={[reconciler.name for reconciler in self._reconcilers]}>"


def _kinds(given: object, option: str) -> tuple[type[KubeObject], ...]:
    """Return the kinds of an option as a tuple; reject anything else."""
    if isinstance(given, (str, type)) or not isinstance(given, Iterable):
        shown = given.__name__ if isinstance(given, type) else repr(given)
        raise DeclarationError(f"{option} is a list of kinds: write {option}=[{shown.strip(chr(39))}]")
    kinds = tuple(given)
    for kind in kinds:
        if not isinstance(kind, type):
            raise DeclarationError(f"{option} is a list of classes of kinds, and {kind!r} is not a class")
        _check_kind(kind)
    return kinds


def _check_kind(kind: object) -> None:
    """Reject what is not a kind, with the usual mistakes by name."""
    if isinstance(kind, type) and issubclass(kind, KubeObject):
        resource_of(kind)
    elif isinstance(kind, type):
        raise DeclarationError(
            f"{kind.__module__}.{kind.__qualname__} is not a kind: derive it from Resource and decorate it with "
            f'@custom_resource("group/version")'
        )
    elif callable(kind):
        name = getattr(kind, "__name__", "function")
        raise DeclarationError(
            f"@operator.reconciler needs the kind to reconcile: write @operator.reconciler(MyKind) above {name}"
        )
    else:
        raise DeclarationError(f"operator.reconciler needs the class of a kind, got {kind!r}")
