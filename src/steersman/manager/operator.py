"""`Operator`: everything that an author declares, in one place; `steer dev`, `steer run` and tests run it unchanged."""

from collections.abc import Awaitable, Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.controller.declaration import ReconcileFunction, Reconciler, ReconcilerOptions
from steersman.controller.owned import Owned
from steersman.controller.predicates import Predicate, always, meaningful
from steersman.controller.triggers import WatchedKind
from steersman.errors import DeclarationError
from steersman.manager.clusters.provider import ClusterProvider
from steersman.manager.permission import Permission
from steersman.manager.runnable import Runnable
from steersman.objects.resource import KubeObject, resource_of
from steersman.protocol.http import Request, Response
from steersman.sharding.ranges import check_count
from steersman.webhook.declarations import AdmissionDeclarations

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

K = TypeVar("K", bound=KubeObject)

#: Work of an operator that is not triggered by an object; called with its client and clock.
BackgroundFunction: TypeAlias = Callable[[Client, Clock], Awaitable[None]]


class Operator(AdmissionDeclarations):
    """Reconcilers, webhooks and rules under one name, which is also that of the field manager and of the lease."""

    def __init__(self, name: str, *, shards: int = 0, clusters: ClusterProvider | None = None) -> None:
        """Create an operator. ``shards`` divides its objects, so that so many replicas can work at the same time.

        ``clusters`` finds the clusters in which ``steer run`` runs it, unless the user names others.
        """
        super().__init__()
        if not name:
            raise DeclarationError("an operator needs a name")
        self.name = name
        #: Number of shards; 0 if one replica, the leader, works on all objects.
        self.shards = _checked_shards(shards)
        self.clusters = clusters
        self._reconcilers: list[Reconciler[Any]] = []
        self._servers: list[Runnable] = []
        self._background: list[BackgroundFunction] = []
        self._declared: list[type[KubeObject]] = []
        self._permissions: list[Permission] = []
        self._declined: list[Permission] = []
        self._planned_services: dict[str, Callable[[Request], Response]] = {}
        #: Why the operator cannot be planned; empty if it can.
        self.not_planned = ""

    def reconciler(  # noqa: PLR0913 - the author's options, each by its name, where the author reads them
        self,
        kind: type[K],
        *,
        owns: Iterable[type[KubeObject] | Owned] = (),
        watches: Iterable[WatchedKind[K]] = (),
        waits_for: Iterable[type[KubeObject]] = (),
        when: Predicate = meaningful,
        owns_when: Predicate = always,
        priority: Callable[[K], int] | None = None,
        workers: int = 1,
        timeout: float | None = None,
        resync: float | None = None,
        selector: str = "",
        optional: bool = False,
        while_deleting: bool = False,
        report_failures: bool = True,
        kstatus: bool = False,
        name: str = "",
        finalizer: str = "",
    ) -> Callable[[ReconcileFunction[K]], Reconciler[K]]:
        """Decorate the function that reconciles objects of a kind.

        ``owns`` lists kinds whose objects trigger the one that controls them (``Owned`` to cache only some of them),
        ``watches`` others with a function that
        returns the keys to reconcile, ``waits_for`` kinds that are not watched but that a run may wait for by raising
        ``Blocked``. ``when`` decides which changes of the kind itself matter: by default all but those of the status
        alone. ``priority`` returns the rank of an object, from -100 to 100: objects of a higher rank go first.
        ``workers`` objects are reconciled at the same time, each for at most ``timeout`` seconds, and all of
        them every ``resync`` seconds. An ``optional`` kind need not be served. ``while_deleting`` calls the function
        for objects that are being deleted as well, to finish their deletion; it replaces a cleanup. Runs that keep
        failing set the condition Ready=False and record an event unless ``report_failures`` is false. ``kstatus`` sets
        the conditions Ready, Reconciling and Stalled at the end of every run, as other tools read them. ``name`` is the
        name of the controller in logs and metrics, ``finalizer`` that of the finalizer that a cleanup needs.
        """
        _check_kind(kind)
        options = ReconcilerOptions(
            owned=_owned(owns),
            watches=tuple(watches),
            waits_for=_kinds(waits_for, "waits_for"),
            when=when,
            owns_when=owns_when,
            priority=priority,
            workers=workers,
            timeout=timeout,
            resync=resync,
            selector=selector,
            optional=optional,
            while_deleting=while_deleting,
            report_failures=report_failures,
            kstatus=kstatus,
        )

        def decorate(function: ReconcileFunction[K]) -> Reconciler[K]:
            label = name or kind.__name__.lower()
            mark = finalizer or self._finalizer(kind, label)
            declared = Reconciler(label, kind, function, finalizer=mark, options=options)
            self._add(declared)
            return declared

        return decorate

    def declare(self, *kinds: type[KubeObject]) -> None:
        """Add custom kinds that are not reconciled, such as other versions of a reconciled one."""
        self._declared.extend(kinds)

    def permit(self, kind: type[KubeObject], *verbs: str, subresource: str = "") -> None:
        """Add an RBAC permission that reconcilers do not imply: ``permit(Secret, "get")`` for a kind that is only read.

        Kinds that are reconciled, owned or watched need no declaration. ``steer manifests`` generates the least
        privileged role from all of them.
        """
        self._permissions.append(Permission(kind, verbs, subresource))

    def decline(self, kind: type[KubeObject], *verbs: str, subresource: str = "") -> None:
        """Remove an RBAC permission that reconcilers imply: ``decline(Pod, "delete")`` if pods are never deleted."""
        self._declined.append(Permission(kind, verbs, subresource))

    def plan_service(self, url: str, answer: Callable[[Request], Response]) -> None:
        """Declare what a server answers to writes of ``ctx.http`` that a plan records instead of making them.

        Reads are made. Without a double, the answer to a write is ``202`` without content.
        """
        self._planned_services[url] = answer

    def refuse_plan(self, reason: str) -> None:
        """Declare that the operator cannot be planned, such as for a driver that writes to a database by itself."""
        self.not_planned = reason

    def background(self, function: BackgroundFunction) -> BackgroundFunction:
        """Decorate a function that runs while the reconcilers do: ``async def beat(client, clock)``.

        It gets the operator's client and should run forever; an exception that it raises ends the manager.
        """
        self._background.append(function)
        return function

    @cached_property
    def metrics(self) -> "CollectorRegistry":
        """Registry of the author's own metrics, served next to ours: ``Counter(…, registry=operator.metrics)``."""
        from prometheus_client import CollectorRegistry  # noqa: PLC0415 - most operators have no metrics of their own

        return CollectorRegistry()

    def add_server(self, server: Runnable) -> None:
        """Run a server on every replica before the controllers start, such as an API of the operator's own."""
        self._servers.append(server)

    @property
    def reconcilers(self) -> tuple[Reconciler[Any], ...]:
        """Declared reconcilers, in order."""
        return tuple(self._reconcilers)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Permissions that were added by ``permit``."""
        return tuple(self._permissions)

    @property
    def declined(self) -> tuple[Permission, ...]:
        """Permissions that were removed by ``decline``."""
        return tuple(self._declined)

    @property
    def background_functions(self) -> tuple[BackgroundFunction, ...]:
        """Functions that run while the reconcilers do."""
        return tuple(self._background)

    @property
    def planned_services(self) -> dict[str, Callable[[Request], Response]]:
        """Functions that answer for HTTP services in a plan, by URL."""
        return dict(self._planned_services)

    @property
    def servers(self) -> tuple[Runnable, ...]:
        """Servers that run on every replica."""
        return tuple(self._servers)

    @property
    def kinds(self) -> tuple[type[KubeObject], ...]:
        """Every kind that is reconciled, validated, defaulted or declared, each once."""
        reconciled = (reconciler.kind for reconciler in self._reconcilers)
        reviewed = (webhook.kind for webhook in self.webhooks)
        return tuple(dict.fromkeys([*reconciled, *reviewed, *self._declared]))

    def _finalizer(self, kind: type[KubeObject], label: str) -> str:
        """Return the name of a finalizer. It must begin with a domain, which kinds of the core group do not have."""
        return f"{resource_of(kind).gvk.group or f'{self.name}.operator'}/{label}"

    def _add(self, reconciler: Reconciler[Any]) -> None:
        if any(known.name == reconciler.name for known in self._reconcilers):
            raise DeclarationError(
                f"operator {self.name!r} has two reconcilers named {reconciler.name!r}: pass name= to one of them"
            )
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


def _checked_shards(shards: int) -> int:
    if shards != 0:
        try:
            check_count(shards)
        except ValueError as error:
            raise DeclarationError(str(error)) from None
    return shards


def _owned(given: Iterable[type[KubeObject] | Owned]) -> tuple[Owned, ...]:
    """Return owned kinds with their scopes; reject anything else, and a kind that is listed twice with other scopes."""
    listed = given if isinstance(given, (str, type)) or not isinstance(given, Iterable) else list(given)
    kinds = [_kind_of(one) for one in listed] if isinstance(listed, list) else _kind_of(listed)
    _kinds(kinds, "owns")
    found: dict[type[KubeObject], Owned] = {}
    for one in listed:
        owned = one if isinstance(one, Owned) else Owned(one)
        if found.setdefault(owned.kind, owned) != owned:
            raise DeclarationError(f"owns lists {owned.kind.__name__} twice, with other scopes: use one of them")
    return tuple(found.values())


def _kind_of(owned: object) -> object:
    return owned.kind if isinstance(owned, Owned) else owned


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
    """Raise ``DeclarationError`` unless the argument is the class of a kind; name the usual mistakes."""
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
