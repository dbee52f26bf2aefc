"""`Cluster`: a fresh embedded API server, a client for it, and operators that run against it, in milliseconds."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Protocol, Self, TypeVar

from steersman.apiserver.access.service_account_tokens import service_account_user
from steersman.apiserver.background.controllers import ControllerOptions
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.server import ApiServer
from steersman.apiserver.webhook_calls.targets import WebhookOptions
from steersman.client.client import Client
from steersman.clock import Clock, RealClock
from steersman.concurrency import background, wait_ready
from steersman.controller.reports.failures import FailureListener, ReconcileFailure, ignore_failure
from steersman.errors import WaitTimeout
from steersman.informer.informer import Informer, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.manager.definitions import definitions_of
from steersman.manager.install import install_definitions
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.codec import decode_list
from steersman.objects.resource import KubeObject, resource_of
from steersman.planning.plan import Plan
from steersman.planning.planner import PlanOptions, make_plan
from steersman.protocol.http import App, Peer, Response, Stream, Upgraded
from steersman.protocol.options import ListOptions
from steersman.protocol.requests import Requests
from steersman.protocol.responses import body_of
from steersman.randomness import Randomness
from steersman.testing.blocking_calls import watching_for_blocking_calls
from steersman.testing.eventually import Condition, eventually
from steersman.testing.failures import Expected, Failures
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Faults
from steersman.testing.permissions import HOME, PermissionTracker
from steersman.testing.webhook_calls import WebhookCalls
from steersman.testing.webhook_listener import InProcessListener
from steersman.transport.in_memory import InMemoryTransport
from steersman.transport.services import HttpServices

K = TypeVar("K", bound=KubeObject)


class _Answer:
    """An exchange that keeps the response."""

    def __init__(self) -> None:
        self.response: Response | None = None

    @property
    def peer(self) -> Peer:
        return Peer("in-memory")

    def respond(self, response: Response) -> None:
        self.response = response

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        raise TypeError(f"a list was answered by a stream ({status}, {headers})")

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        raise TypeError(f"a list was answered by an upgrade ({headers})")

    def reset(self) -> None:
        self.response = None


def list_now(server: ApiServer, kind: type[K], *, namespace: str = "", selector: str = "") -> list[K]:
    """Return the current objects of a server."""
    answer = _Answer()
    request = Requests(resource_of(kind)).list(namespace, ListOptions(label_selector=selector))
    server.handle(request, answer)
    if answer.response is None:
        raise RuntimeError(f"the server did not answer {request.target} at once")
    return decode_list(kind, body_of(answer.response)).items


#: Checks in a row without a change that count as rest under a real clock, and seconds between checks.
_REST_LOOKS, _REST_PAUSE = 3, 0.002


class Worker(Protocol):
    """A component that works on a cluster, and knows when it has nothing left to do."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do."""


class Cluster:
    """An API server for one test. Everything runs in this process: nothing listens on a port.

    Background tasks run as in a real cluster: objects without owners are collected, a deleted namespace takes its
    content with it, and each namespace has its default ServiceAccount. They run right after the write that causes them,
    in no virtual time.
    """

    #: The class of the server.
    server_class: type[ApiServer] = ApiServer

    def __init__(self, *, clock: Clock | None = None, seed: int | None = None) -> None:
        self.clock = clock if clock is not None else RealClock()
        self.randomness = Randomness(seed)
        #: Calls webhooks: on this machine over HTTPS, or in this process (see `serve_webhooks`).
        self.webhooks = WebhookCalls(self.clock)
        self._webhook_services: dict[str, str] = {}
        self.server = self.server_class(
            clock=self.clock,
            randomness=self.randomness,
            controllers=ControllerOptions(),
            webhooks=WebhookOptions(caller=self.webhooks, services=self._webhook_services),
        )
        #: Requests of the client and the operators; faults are injected here.
        self.faults = Faults(self.server)
        self.transport = InMemoryTransport(self.faults, clock=self.clock)
        self.client = Client(self.transport, clock=self.clock, randomness=self.randomness)
        #: What operators may do, and what they did.
        self.permissions = PermissionTracker(self.server)
        #: Services that operators call besides the cluster: over HTTP, or in this process (see `serve_http`).
        self.services = HttpServices(self.clock)
        #: Default timeout of ``eventually`` and ``settle`` in seconds; other processes may need more.
        self.patience = 5.0
        #: Seconds of real time for which an operator's function may block the event loop without a warning.
        self.blocking_limit = 1.0
        #: Reconciles that failed, expected or not, in all blocks of ``running``.
        self._failures = Failures(self.faults.explains)
        self._workers: list[Worker] = []

    @classmethod
    @asynccontextmanager
    async def start(cls, *, clock: Clock | None = None, seed: int | None = None) -> AsyncIterator[Self]:
        """Start a cluster for the block."""
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
        self,
        *operators: Operator,
        options: ManagerOptions | None = None,
        expect_failures: Expected = (),
        replica: str = "",
    ) -> AsyncIterator[Manager]:
        """Run operators inside the block, with their CRDs and webhooks installed.

        Operators may do what the roles allow that ``steer manifests`` would write for them; an operator that needs more
        fails the block with an ``AssertionError`` that names the missing permission. A reconcile that raises fails the
        block as well, unless the exception is one of ``expect_failures`` or results from an injected fault; ``Retry``,
        ``Permanent`` and conflicts are not failures. A reconciler that changes the object's spec, labels or
        annotations, which are never sent, fails the block too. A function that blocks the event loop causes a
        ``BlockingCallWarning``.

        With ``replica``, the name of this process, the operators take part in leader election: run several replicas in
        nested blocks. The block of one that does not lead begins when it does, unless the operator has shards.
        """
        options = options if options is not None else ManagerOptions()
        if replica:
            election = ElectionOptions(name=operators[0].name, namespace=HOME, identity=replica)
            options = replace(options, election=election, instance=replica)
        here = InProcessListener(f"webhooks-{len(self._webhook_services)}", self.serve_webhooks)
        options = replace(
            options,
            install_crds=True,
            installer=self.transport,
            webhooks=options.webhooks or here,
            on_failure=self._listener(options.on_failure),
        )
        # The preparation is not part of the run: faults neither strike nor record it.
        user = await self.permissions.grant(InMemoryTransport(self.server, clock=self.clock), operators, options)
        transport = InMemoryTransport(self.faults.around(self.server.acting_as(user)), clock=self.clock)
        manager = Manager(
            operators,
            transport,
            options,
            clock=self.clock,
            randomness=self.randomness,
            services=self.services,
        )
        with self.checking(expect_failures), self.permissions.checking(operators, options):
            async with (
                watching_for_blocking_calls(operators, self.blocking_limit),
                background(manager.run(), name="manager") as task,
            ):
                await self.drive(wait_ready(manager.wait_ready(), task))
                try:
                    with self.waiting_for(manager):
                        yield manager
                finally:
                    task.cancel()
                    await self.drive(_ended(task))
                    await transport.close()
        if mistakes := [mistake for controller in manager.controllers for mistake in controller.mistakes]:
            raise AssertionError("\n".join(mistakes))

    async def plan(self, *operators: Operator, options: PlanOptions | None = None) -> Plan:
        """Return what operators would do to this cluster, without doing it: ``assert plan.is_empty``.

        Their CRDs count as installed: a definition that would change is part of the plan. No time passes, and the
        cluster does not change.
        """
        pause = self.clock.settle if isinstance(self.clock, FakeClock) else None
        transport = InMemoryTransport(self.server, clock=self.clock)
        try:
            return await make_plan(operators, transport, options, clock=self.clock, services=self.services, pause=pause)
        finally:
            await transport.close()

    @property
    def failures(self) -> Sequence[ReconcileFailure]:
        """Every reconcile that failed so far, expected or not, in order."""
        return self._failures.all

    def checking(self, expect_failures: Expected) -> AbstractContextManager[None]:
        """Fail at the end of the block if a reconcile failed unexpectedly in it; see ``running``."""
        return self._failures.checking(expect_failures)

    def record_failure(self, failure: ReconcileFailure) -> None:
        """Record a reconcile that failed; a `FailureListener` for managers that a test runs itself."""
        self._failures.record(failure)

    def _listener(self, also: FailureListener = ignore_failure) -> FailureListener:
        def on_failure(failure: ReconcileFailure) -> None:
            self.record_failure(failure)
            also(failure)

        return on_failure

    def assert_rbac_minimal(self, operator: Operator) -> None:
        """Fail if an operator that ran here was denied a request, or has a permission that it never used; list each."""
        if found := self.permissions.violations(operator):
            raise AssertionError("\n".join([f"the permissions of operator {operator.name!r} are not minimal:", *found]))

    @contextmanager
    def waiting_for(self, worker: Worker) -> Iterator[None]:
        """Make ``settle`` wait for a worker inside the block too."""
        self._workers.append(worker)
        try:
            yield
        finally:
            self._workers.remove(worker)

    async def install(self, *kinds: type[KubeObject]) -> None:
        """Install the CRDs of custom kinds without running an operator."""
        await self.drive(install_definitions(self.client, definitions_of(kinds)))

    def informer(self, kind: type[K], selection: Selection | None = None) -> Informer[K]:
        """Return an informer of a kind: ``async with cluster.informer(Pod) as pods``."""
        return Informer(kind, ApiConnection(self.transport, self.clock, self.randomness), selection or Selection())

    # Other users, and servers in this process.

    def client_as(self, name: str, *groups: str) -> Client:
        """Return a client of a user who may only do what roles allow; ``cluster.client`` may do everything."""
        return self._client_of(User(name, (*groups, "system:authenticated")))

    def client_of_account(self, namespace: str, name: str) -> Client:
        """Return a client with the permissions of a service account, such as that of an operator in a cluster."""
        return self._client_of(service_account_user(namespace, name))

    def _client_of(self, user: User) -> Client:
        transport = InMemoryTransport(self.server.acting_as(user), clock=self.clock)
        return Client(transport, clock=self.clock, randomness=self.randomness)

    def serve_webhooks(self, namespace: str, service: str, app: App) -> None:
        """Serve a Service that webhook configurations and CRDs refer to with an app of this process."""
        self._webhook_services[f"{namespace}/{service}"] = "127.0.0.1:443"
        self.webhooks.serve(f"{service}.{namespace}.svc", app)

    def serve_http(self, url: str, app: App) -> None:
        """Serve a URL that operators call through ``ctx.http`` with an app of this process."""
        self.services.serve(url, app)

    # Reading and waiting.

    def list(self, kind: type[K], *, namespace: str = "", selector: str = "") -> list[K]:
        """Return the current objects of a kind, of all namespaces by default."""
        return list_now(self.server, kind, namespace=namespace, selector=selector)

    async def eventually(self, condition: Condition, *, within: float | None = None, message: str = "") -> None:
        """Wait until a condition returns a true value without raising ``AssertionError``.

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
        raise WaitTimeout(f"not idle within {within:g} s: {self._workers}")

    def _version(self) -> str:
        return str(self.server.objects.version)

    async def drive(self, work: Awaitable[None]) -> None:
        """Wait for something that may need time to pass; a fake clock is advanced until it is done."""
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
