"""The setup of controller tests: an operator on an embedded server, with a clock that the test advances."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from steersman.apiserver.server import ApiServer
from steersman.controller.context import Context
from steersman.controller.declaration import Reconciler
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.protocol.http import Peer, Request, Response, Stream, Upgraded
from steersman.testing.cluster import Cluster
from steersman.testing.failures import Expected
from steersman.testing.fake_clock import FakeClock
from tests.support.widgets import DEFINITION, Widget, WidgetSpec

Ctx = Context[Widget]
OPTIONS = ManagerOptions(definitions=[DEFINITION])


@asynccontextmanager
async def running(operator: Operator, expect_failures: Expected = ()) -> AsyncIterator[Cluster]:
    """Run an operator on a fresh cluster whose clock the test advances."""
    async with (
        Cluster.start(clock=FakeClock(), seed=1) as cluster,
        cluster.running(operator, options=OPTIONS, expect_failures=expect_failures),
    ):
        yield cluster


def clock_of(cluster: Cluster) -> FakeClock:
    """Return the clock that the test advances."""
    assert isinstance(cluster.clock, FakeClock)
    return cluster.clock


async def create(cluster: Cluster, name: str = "a", size: int = 1) -> Widget:
    """Create a widget and wait until the operator is idle."""
    widget = await cluster.client.create(Widget(meta(name), WidgetSpec(size=size)))
    await cluster.settle()
    return widget


async def resize(cluster: Cluster, size: int, name: str = "a") -> None:
    """Change a widget's spec and wait until the operator is idle."""
    await cluster.client.patch(await cluster.client.get(Widget, name), {"spec": {"size": size}})
    await cluster.settle()


def only(cluster: Cluster) -> Widget:
    """Return the only widget."""
    (widget,) = cluster.list(Widget)
    return widget


def counting() -> tuple[Operator, list[Widget], Reconciler[Widget]]:
    """Return an operator that only records which keys it reconciles."""
    operator = Operator("counting")
    runs: list[Widget] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget)

    return operator, runs, reconcile


class _Exchange:
    """An exchange that only stores the answer."""

    def __init__(self) -> None:
        self.response: Response | None = None

    @property
    def peer(self) -> Peer:
        return Peer("in-memory")

    def respond(self, response: Response) -> None:
        self.response = response

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        raise NotImplementedError

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        raise NotImplementedError

    def reset(self) -> None:
        raise NotImplementedError


def send_now(server: ApiServer, request: Request) -> Response:
    """Send a request between two steps of the event loop, for a write that races with one of the operator."""
    exchange = _Exchange()
    server.handle(request, exchange)
    assert exchange.response is not None
    return exchange.response
