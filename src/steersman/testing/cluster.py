"""`Cluster`: a fresh embedded API server, a client for it, and operators that run against it, in milliseconds."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Protocol, Self, TypeVar

from steersman.apiserver.access.service_account_tokens import service_account_user
from steersman.apiserver.background.housekeeping import HousekeepingOptions
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.server import ApiServer
from steersman.apiserver.webhook_calls.targets import WebhookOptions
from steersman.client.client import Client
from steersman.clock import Clock, RealClock
from steersman.concurrency import background, wait_ready
from steersman.controller.failures import FailureListener, ReconcileFailure, ignore_failure
from steersman.errors import WaitTimeout
from steersman.informer.informer import Informer, Selection
from steersman.informer.reflector import Link
from steersman.manager.definitions import definitions_of
from steersman.manager.install import install_definitions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.resource import KubeObject
from steersman.protocol.http import App
from steersman.randomness import Randomness
from steersman.testing.blocking_calls import watching_for_blocking_calls
from steersman.testing.eventually import Condition, eventually
from steersman.testing.failures import Expected, Failures
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Faults
from steersman.testing.rights import Rights
from steersman.testing.sync_reading import list_now
from steersman.testing.webhook_calls import WebhookCalls
from steersman.testing.webhook_front import InProcessFront
from steersman.transport.in_memory import InMemoryTransport
from steersman.transport.services import HttpServices

K = TypeVar("K", bound=KubeObject)

#: Steps of the event loop without a change that count as rest under a real clock, and seconds between looks.
_REST_LOOKS, _REST_PAUSE = 3, 0.002


class Worker(Protocol):
    """Somebody who works on a cluster, and can tell when there is nothing left to do."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do."""


class Cluster:
    """A server of its own for one test. Everything is in this process: nothing listens on a port.

    Housekeeping is on, as in a real cluster: what nobody owns any more is collected, a namespace takes its content with
    it, and each has its default ServiceAccount. It happens right after the write that causes it, in no virtual time.
    """

    def __init__(self, *, clock: Clock | None = None, seed: int | None = None) -> None:
        self.clock = clock if clock is not None else RealClock()
        self.randomness = Randomness(seed)
        #: Calls webhooks: on this machine over HTTPS, or in this process (see `serve_webhooks`).
        self.webhooks = WebhookCalls(self.clock)
        self._webhook_services: dict[str, str] = {}
        self.server = ApiServer(
            clock=self.clock,
            randomness=self.randomness,
            housekeeping=HousekeepingOptions(),
            webhooks=WebhookOptions(caller=self.webhooks, services=self._webhook_services),
        )
        #: What came to the server from the client and the operators, and where faults are injected.
        self.faults = Faults(self.server)
        self.transport = InMemoryTransport(self.faults, clock=self.clock)
        self.client = Client(self.transport, clock=self.clock, randomness=self.randomness)
        #: What operators may do, and what they did.
        self.rights = Rights(self.server)
        #: What operators call beside the cluster: over HTTP, or in this process (see `serve_http`).
        self.services = HttpServices(self.clock)
        #: Seconds that ``eventually`` and ``settle`` wait unless told otherwise; other processes may need more.
        self.patience = 5.0
        #: Seconds of real time for which an operator's function may block the event loop without a warning.
        self.blocking_limit = 1.0
        #: Reconciles that failed, expected or not, in all blocks of ``running``.
        self._failures = Failures(self.faults.explains)
        self._workers: list[Worker] = []

    @classmethod
    @asynccontextmanager
    async def start(cls, *, clock: Clock | None = None, seed: int | None = None) -> AsyncIterator[Self]:
        """Start a cluster; it is gone after the block."""
        cluster = cls(clock=clock, seed=seed)
        try:
            yield cluster
        finally:
            await cluster.transport.close()
            await cluster.webhooks.close()
            await cluster.services.close()

    # Running.

    @asynccontextmanager
    async def running(
        self, *operators: Operator, options: ManagerOptions | None = None, expect_failures: Expected = ()
    ) -> AsyncIterator[Manager]:
        """Run operators inside the block, with the definitions of their custom kinds installed, and their webhooks.

        Operators may do what the roles allow that ``steer manifests`` would write for them; one that needs more fails
        the block with an ``AssertionError`` that says what to declare. A reconcile that raises fails the block as well,
        unless the exception is one of ``expect_failures`` or comes of an injected fault; ``Retry``, ``Permanent`` and
        conflicts are not failures. A change of the object's spec, labels or annotations, which is never sent, fails the
        block too. A function that blocks the event loop gives a ``BlockingCallWarning``.
        """
        options = options if options is not None else ManagerOptions()
        here = InProcessFront(f"webhooks-{len(self._webhook_services)}", self.serve_webhooks)
        options = replace(
            options,
            install_crds=True,
            installer=self.transport,
            webhooks=options.webhooks or here,
            on_failure=self._listener(options.on_failure),
        )
        # What prepares the run is no part of it: faults neither strike nor record it.
        user = await self.rights.grant(InMemoryTransport(self.server, clock=self.clock), operators, options)
        transport = InMemoryTransport(self.faults.around(self.server.acting_as(user)), clock=self.clock)
        manager = Manager(
            operators,
            transport,
            options,
            clock=self.clock,
            randomness=self.randomness,
            services=self.services,
        )
        with self.judging(expect_failures), self.rights.judging(operators, options):
            async with (
                watching_for_blocking_calls(operators, self.blocking_limit),
                background(manager.run(), name="manager") as task,
            ):
                await self.drive(wait_ready(manager.wait_ready(), task))
                try:
                    with self.attended(manager):
                        yield manager
                finally:
                    task.cancel()
                    await self.drive(_ended(task))
                    await transport.close()
        if mistakes := [mistake for controller in manager.controllers for mistake in controller.mistakes]:
            raise AssertionError("\n".join(mistakes))

    @property
    def failures(self) -> Sequence[ReconcileFailure]:
        """Every reconcile that failed so far, expected or not, in order."""
        return self._failures.all

    def judging(self, expect_failures: Expected) -> AbstractContextManager[None]:
        """Fail at the end of the block if a reconcile failed unexpectedly in it; see ``running``."""
        return self._failures.judging(expect_failures)

    def record_failure(self, failure: ReconcileFailure) -> None:
        """Record a reconcile that failed; a `FailureListener` for managers that a test runs itself."""
        self._failures.record(failure)

    def _listener(self, also: FailureListener = ignore_failure) -> FailureListener:
        def on_failure(failure: ReconcileFailure) -> None:
            self.record_failure(failure)
            also(failure)

        return on_failure

    def assert_rbac_minimal(self, operator: Operator) -> None:
        """Fail if an operator that ran here was refused something, or has a right that it never used; name each."""
        if found := self.rights.findings(operator):
            raise AssertionError("\n".join([f"the rights of operator {operator.name!r} are not minimal:", *found]))

    @contextmanager
    def attended(self, worker: Worker) -> Iterator[None]:
        """Let ``settle`` wait for somebody's work too, inside the block."""
        self._workers.append(worker)
        try:
            yield
        finally:
            self._workers.remove(worker)

    async def install(self, *kinds: type[KubeObject]) -> None:
        """Install the definitions of custom kinds without running an operator."""
        await self.drive(install_definitions(self.client, definitions_of(kinds)))

    def informer(self, kind: type[K], selection: Selection | None = None) -> Informer[K]:
        """Make an informer of a kind: ``async with cluster.informer(Pod) as pods``."""
        return Informer(kind, Link(self.transport, self.clock, self.randomness), selection or Selection())

    # Acting as somebody else, and having a say.

    def client_as(self, name: str, *groups: str) -> Client:
        """Give a client of a user who may only do what roles allow; ``cluster.client`` may everything."""
        return self._client_of(User(name, (*groups, "system:authenticated")))

    def client_of_account(self, namespace: str, name: str) -> Client:
        """Give a client of a service account: what an operator may do in a cluster, it may do with this one."""
        return self._client_of(service_account_user(namespace, name))

    def _client_of(self, user: User) -> Client:
        transport = InMemoryTransport(self.server.acting_as(user), clock=self.clock)
        return Client(transport, clock=self.clock, randomness=self.randomness)

    def serve_webhooks(self, namespace: str, service: str, app: App) -> None:
        """Let an app answer for a Service that webhook configurations and definitions refer to."""
        self._webhook_services[f"{namespace}/{service}"] = "127.0.0.1:443"
        self.webhooks.serve(f"{service}.{namespace}.svc", app)

    def serve_http(self, url: str, app: App) -> None:
        """Let an app answer for the server of a URL that operators call by ``ctx.http``."""
        self.services.serve(url, app)

    # Looking.

    def list(self, kind: type[K], *, namespace: str = "", selector: str = "") -> list[K]:
        """Give the objects that the server has now, in all namespaces unless told otherwise."""
        return list_now(self.server, kind, namespace=namespace, selector=selector)

    async def eventually(self, condition: Condition, *, within: float | None = None, message: str = "") -> None:
        """Wait until a condition holds: it returns something true, and raises no ``AssertionError``.

        The ``WaitTimeout`` names the condition's source and last value, and the last reconcile that failed.
        """
        within = self.patience if within is None else within
        explain = self._failures.last_text
        await eventually(condition, clock=self.clock, within=within, message=message, explain=explain)

    async def settle(self, *, within: float | None = None) -> None:
        """Wait until the operators have nothing to do, and the server has not changed meanwhile.

        Timers that are due later (``requeue_after``, back-off) are not waited for.
        """
        within = self.patience if within is None else within
        looks = max(int(within / _REST_PAUSE), _REST_LOOKS)
        quiet, version = 0, ""
        for _ in range(looks):
            if isinstance(self.clock, FakeClock):
                await self.clock.settle()
            else:
                await self.clock.sleep(_REST_PAUSE)
            now = self._version()
            is_quiet = now == version and all(worker.is_idle for worker in self._workers)
            quiet, version = (quiet + 1 if is_quiet else 0), now
            if quiet == _REST_LOOKS:
                return
        raise WaitTimeout(f"no rest within {within:g} s: {self._workers}")

    def _version(self) -> str:
        return str(self.server.ledger.version)

    async def drive(self, work: Awaitable[None]) -> None:
        """Wait for something that may need time to pass; a fake clock is moved until it is done."""
        if not isinstance(self.clock, FakeClock):
            await work
            return
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(_awaited(work), name="drive")
            while not task.done():
                await self.clock.settle()
                if not task.done():
                    await self.clock.advance(self.clock.next_timer() or 0.0)

    def __repr__(self) -> str:
        return f"<Cluster {self.server!r} workers={len(self._workers)}>"


async def _ended(task: asyncio.Task[None]) -> None:
    await asyncio.wait({task})


async def _awaited(work: Awaitable[None]) -> None:
    await work
