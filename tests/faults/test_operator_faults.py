"""A whole operator under faults, at every step: the end state is always the same, and nothing is left behind."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.concurrency import background, wait_ready
from steersman.controller.context import Context
from steersman.errors import SteersmanError
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.serving.server import Server
from steersman.testing.cluster import Cluster, list_now
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Faults, Reset
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport
from steersman.transport.in_memory import InMemoryTransport
from tests.support.widgets import DEFINITION, Widget, WidgetSpec

OPTIONS = ManagerOptions(definitions=[DEFINITION])
GONE = b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,"reason":"Expired"}}\n'
BROKEN = b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":500,"reason":"InternalError"}}\n'


def parts_operator(who: str = "") -> Operator:
    """Return an operator that creates and prunes children, with a cleanup."""
    operator = Operator("parts")

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        for number in range(widget.spec.size):
            await ctx.apply(ConfigMap(meta(f"{widget.name}-{number}"), data={"n": str(number), "by": who}))
        await ctx.prune(ConfigMap)
        widget.status.size = widget.spec.size

    @reconcile.cleanup
    async def cleanup(_: Widget, ctx: Context[Widget]) -> None:
        for child in ctx.owned(ConfigMap):
            await ctx.delete(child)

    return operator


@asynccontextmanager
async def running(seed: int = 1) -> AsyncIterator[Cluster]:
    """Run the operator on a fresh cluster whose clock the test advances."""
    async with (
        Cluster.start(clock=FakeClock(), seed=seed) as cluster,
        cluster.running(parts_operator(), options=OPTIONS),
    ):
        yield cluster


def clock_of(cluster: Cluster) -> FakeClock:
    """Return the clock that the test advances."""
    assert isinstance(cluster.clock, FakeClock)
    return cluster.clock


async def _create(cluster: Cluster) -> None:
    for name in "ab":
        await cluster.client.create(Widget(meta(name), WidgetSpec(size=2)))


async def _grow(cluster: Cluster) -> None:
    await cluster.client.patch(Widget(meta("a", namespace="default"), WidgetSpec()), {"spec": {"size": 3}})


async def _vandalise(cluster: Cluster) -> None:
    for child in cluster.list(ConfigMap)[:1]:
        await cluster.client.delete(child, missing_ok=True)


async def _recreate(cluster: Cluster) -> None:
    """Delete and create again under the same name: a new uid."""
    old = await cluster.client.get(Widget, "b")
    await cluster.client.patch(old, {"metadata": {"finalizers": None}})
    await cluster.client.delete(await cluster.client.get(Widget, "b"))
    await cluster.client.create(Widget(meta("b"), WidgetSpec(size=1)))


STEPS = (_create, _grow, _vandalise, _recreate)

WATCH_FAULTS: dict[str, Callable[[Cluster], None]] = {
    "dropped": lambda cluster: cluster.faults.drop(),
    "closed": lambda cluster: [stream.close() for stream in cluster.faults.watches()].clear(),
    "expired": lambda cluster: cluster.faults.send(GONE),
    "failed": lambda cluster: cluster.faults.send(BROKEN),
    "cut in a line": lambda cluster: (cluster.faults.send(b'{"type":"MOD'), cluster.faults.drop())[1],
    "held": lambda cluster: cluster.faults.hold(),
    "nonsense": lambda cluster: cluster.faults.send(b"nonsense\n"),
}


def is_right(widgets: list[Widget], children: list[ConfigMap]) -> bool:
    """Return whether the state is the one that the steps ask for."""
    sizes = {widget.name: (widget.spec.size, widget.status.size) for widget in widgets}
    living = {widget.uid for widget in widgets}
    # Children of the replaced object are left to the garbage collector.
    owned = [child.name for child in children if child.controller is not None and child.controller.uid in living]
    return sizes == {"a": (3, 3), "b": (1, 1)} and owned == ["a-0", "a-1", "a-2", "b-0"]


@pytest.mark.parametrize("fault", WATCH_FAULTS)
async def test_a_watch_fault_between_any_two_steps_loses_nothing(fault: str) -> None:
    """Dropped, ended, expired, cut, silent: after any fault of its watches the operator reaches the desired state."""
    for position in range(len(STEPS) + 1):
        async with running(seed=position) as cluster:
            for number, step in enumerate(STEPS):
                if number == position:
                    WATCH_FAULTS[fault](cluster)
                await step(cluster)
                await clock_of(cluster).advance(0.05)
            if position == len(STEPS):
                WATCH_FAULTS[fault](cluster)
            await clock_of(cluster).advance(200.0)
            assert is_right(cluster.list(Widget), cluster.list(ConfigMap)), (fault, position)


async def test_a_restart_at_any_step_of_the_event_loop_loses_nothing() -> None:
    """Killed after each step of a reconcile: the next process finishes the work."""
    for steps in range(0, 120, 3):
        async with Cluster.start(clock=FakeClock(), seed=1) as cluster:
            options = ManagerOptions(definitions=[DEFINITION], grace=0.0)
            async with cluster.running(parts_operator(), options=options):
                await cluster.client.create(Widget(meta("a"), WidgetSpec(size=3)))
                for _ in range(steps):
                    await asyncio.sleep(0)  # noqa: TID251 - one step of the event loop
            async with cluster.running(parts_operator(), options=OPTIONS):
                await cluster.settle()
                assert [child.name for child in cluster.list(ConfigMap)] == ["a-0", "a-1", "a-2"], steps
                assert cluster.list(Widget)[0].status.size == 3, steps


async def test_a_server_restored_from_a_backup_is_followed() -> None:
    """It has older versions than the cache: the operator must notice that instead of waiting for newer ones."""
    async with running() as cluster:
        backup = cluster.server.snapshot()
        for step in STEPS:
            await step(cluster)
        await cluster.settle()
        cluster.server.restore(backup)
        await clock_of(cluster).advance(1.0)
        await cluster.client.create(Widget(meta("new"), WidgetSpec(size=1)))
        await clock_of(cluster).advance(1300.0)
        assert [child.name for child in cluster.list(ConfigMap)] == ["new-0"]
        assert [widget.status.size for widget in cluster.list(Widget)] == [1]


async def test_the_operator_waits_for_a_server_that_is_unavailable() -> None:
    """After a restart in place it finds what happened meanwhile."""
    async with running() as cluster:
        await _create(cluster)
        await cluster.settle()
        cluster.faults.inject(Reset(), times=None)
        cluster.faults.drop()
        direct = Client(InMemoryTransport(cluster.server, clock=cluster.clock), clock=cluster.clock)
        await direct.delete(await direct.get(ConfigMap, "a-0"))
        await direct.patch(await direct.get(Widget, "b"), {"spec": {"size": 1}})
        await clock_of(cluster).advance(120.0)
        cluster.faults.injections.clear()
        await clock_of(cluster).advance(120.0)
        assert [child.name for child in cluster.list(ConfigMap)] == ["a-0", "a-1", "b-0"]


# Two replicas.


class Replica:
    """One of two processes, with its own connection, whose writes are recorded."""

    def __init__(self, server: ApiServer, clock: FakeClock, name: str, writes: list[str]) -> None:
        self.name = name
        self.faults = Faults(server)
        options = ManagerOptions(
            election=ElectionOptions(name="op", namespace="default", identity=name), definitions=[DEFINITION]
        )
        self.manager = Manager(
            [parts_operator(name)], _RecordingTransport(self.faults, name, writes, clock), options, clock=clock
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        """Run it and ignore how it ends."""
        async with background(_quietly(self.manager), name=self.name) as task:
            yield task


async def _quietly(manager: Manager) -> None:
    # A replica that loses its lease, or its server, stops; that is what is tested.
    with suppress(SteersmanError):
        await manager.run()


class _RecordingTransport(InMemoryTransport):
    """Records every write to children that reached the server."""

    def __init__(self, faults: Faults, name: str, writes: list[str], clock: FakeClock) -> None:
        super().__init__(_RecordingApp(faults, name, writes), clock=clock)


class _RecordingApp:
    def __init__(self, faults: Faults, name: str, writes: list[str]) -> None:
        self._faults, self._name, self._writes = faults, name, writes

    def handle(self, request, exchange):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202 - passes an App's call on
        struck = any(one.strikes(request) for one in self._faults.injections)
        if request.method != "GET" and "/leases" not in request.target and not struck:
            self._writes.append(self._name)
        return self._faults.handle(request, exchange)


@pytest.mark.parametrize("end", ["killed", "cut off", "cut off from the lease only", "stopped"])
async def test_two_leaders_never_write_at_once_whenever_the_first_one_ends(end: str) -> None:
    """Killed, partitioned or stopped at any time: the writes of one replica never come between those of another."""
    for position in range(12):
        clock = FakeClock()
        server = ApiServer(clock=clock)
        client = Client(InMemoryTransport(server, clock=clock), clock=clock)
        writes: list[str] = []
        first, second = Replica(server, clock, "first", writes), Replica(server, clock, "second", writes)
        async with first.running() as task:
            await clock.advance(0.5)
            async with second.running():
                await client.create(Widget(meta("a"), WidgetSpec(size=3)))
                await clock.advance(position * 0.37)
                if end == "killed":
                    first.faults.inject(Reset(), times=None)
                    task.cancel()
                elif end == "cut off":
                    first.faults.inject(Reset(), times=None)
                elif end == "cut off from the lease only":
                    first.faults.inject(Reset(), path="/leases", times=None)
                else:
                    task.cancel()
                for size in range(4, 10):
                    await client.patch(Widget(meta("a", namespace="default"), WidgetSpec()), {"spec": {"size": size}})
                    await clock.advance(5.0)
                assert list_now(server, Widget)[0].status.size == 9
                changes = [name for name, before in zip(writes, ["", *writes], strict=False) if name != before]
                # Every replica installs the CRDs when it starts; all later writes must change from one replica to the
                # other once.
                assert changes in (["first", "second"], ["first", "second", "first", "second"]), changes
                last_of_first = max(index for index, name in enumerate(writes) if name == "first")
                first_work_of_second = [i for i, name in enumerate(writes) if name == "second"][1:]
                assert all(index > last_of_first for index in first_work_of_second), (position, writes)


async def test_nothing_is_left_behind_over_real_sockets() -> None:
    """No task, connection or watch may stay open."""
    clock = RealClock()
    api = ApiServer(clock=clock)
    async with Server(api, clock=clock) as http:
        before = len(asyncio.all_tasks())
        transport = HttpTransport(ClusterConfig(server=http.url), clock=clock)
        manager = Manager([parts_operator()], transport, OPTIONS, clock=clock)
        async with background(manager.run(), name="manager") as task:
            await wait_ready(manager.wait_ready(), task)
            client = Client(transport, clock=clock)
            await client.create(Widget(meta("a"), WidgetSpec(size=2)))
            await client.wait_for(await client.get(Widget, "a"), lambda widget: widget.status.size == 2, timeout=10.0)
        await transport.close()
        gc.collect()
        assert len(asyncio.all_tasks()) == before
        async with clock.timeout(5.0):
            while len(api.hub):
                await clock.sleep(0.01)
