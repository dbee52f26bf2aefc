"""The manager: the order of start and stop, its health and metrics, and who may write."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from steersman.concurrency import background
from steersman.controller.context import Context
from steersman.controller.owned import Owned
from steersman.controller.triggers import Watch
from steersman.errors import LeadershipLost, WaitTimeout
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.protocol.http import Request
from steersman.serving.server import Listen
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Refuse, Reset
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport
from tests.support.widgets import DEFINITION, Widget, WidgetSpec


def election(name: str) -> ManagerOptions:
    """Return the election options of the operator for a manager."""
    return ManagerOptions(election=ElectionOptions(name="op", namespace="default", identity=name))


def clock_of(cluster: Cluster) -> FakeClock:
    """Return the clock that the test advances."""
    assert isinstance(cluster.clock, FakeClock)
    return cluster.clock


def copier(runs: list[str], who: str = "op") -> Operator:
    """Return an operator that creates a Secret for each ConfigMap."""
    operator = Operator("op")
    operator.permit(Secret, "get", "create", "patch")

    @operator.reconciler(ConfigMap)
    async def reconcile(source: ConfigMap, ctx: Context[ConfigMap]) -> None:
        runs.append(f"{who}:{source.name}")
        await ctx.apply(Secret(meta(source.name), string_data={"by": who}))

    return operator


class RecordingServer:
    """A server that records when it runs."""

    def __init__(self, log: list[str]) -> None:
        self._log = log
        self._ready = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled."""
        self._log.append("server starts")
        self._ready.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._log.append("server ends")

    async def wait_ready(self) -> None:
        """Wait until it runs."""
        await self._ready.wait()


async def test_servers_start_first_and_end_last() -> None:
    """Webhooks must answer before the first write, and until the last."""
    log: list[str] = []
    operator = Operator("op")
    operator.add_server(RecordingServer(log))

    @operator.reconciler(ConfigMap)
    async def reconcile(source: ConfigMap, _: Context[ConfigMap]) -> None:
        log.append(source.name)

    async with Cluster.start(clock=FakeClock()) as cluster:
        await cluster.client.create(ConfigMap(meta("a")))
        async with cluster.running(operator):
            await cluster.settle()
    assert log == ["server starts", "a", "server ends"]


async def test_nothing_is_reconciled_before_every_cache_is_synced() -> None:
    """A run with an incomplete cache would delete what it does not see."""
    operator = Operator("op")
    seen: list[int] = []

    @operator.reconciler(ConfigMap, owns=[Secret])
    async def reconcile(_: ConfigMap, ctx: Context[ConfigMap]) -> None:
        seen.append(len(await ctx.list(Secret)))

    async with Cluster.start(clock=FakeClock()) as cluster:
        await cluster.client.create(ConfigMap(meta("a")))
        await cluster.client.create(Secret(meta("s")))
        cluster.faults.inject(Refuse(503, "ServiceUnavailable"), path="/secrets", times=4)
        async with cluster.running(operator):
            await cluster.settle()
    assert seen == [1]


async def test_caches_that_never_sync_end_the_manager_with_a_reason() -> None:
    """After two minutes the error names the kind and the cause."""
    operator = copier([])
    async with Cluster.start(clock=FakeClock()) as cluster:
        cluster.faults.inject(Refuse(403, "Forbidden", "may not list configmaps"), path="/configmaps", times=None)
        with pytest.raises(WaitTimeout, match="may not list configmaps"):
            async with cluster.running(operator):
                pass


async def test_running_reconciles_finish_within_the_grace_period() -> None:
    """Keys that have not started are left to the next process."""
    operator = Operator("op")
    finished: list[str] = []

    @operator.reconciler(ConfigMap)
    async def reconcile(source: ConfigMap, ctx: Context[ConfigMap]) -> None:
        await cluster.clock.sleep(10.0)
        await ctx.apply(Secret(meta(source.name)))
        finished.append(source.name)

    async with Cluster.start(clock=FakeClock()) as cluster:
        clock = clock_of(cluster)
        async with asyncio.TaskGroup() as tasks:
            stopping = tasks.create_task(_run_briefly(cluster, operator))
            await clock.advance(3.0)
            assert not stopping.done()
            await clock.advance(30.0)
            assert stopping.done()
        assert finished == ["a"]


async def _run_briefly(cluster: Cluster, operator: Operator) -> None:
    for name in "ab":
        await cluster.client.create(ConfigMap(meta(name)))
    manager = Manager([operator], cluster.transport, clock=cluster.clock)
    async with background(manager.run(), name="manager"):
        await manager.wait_ready()
        await cluster.clock.sleep(1.0)


async def test_reconciles_that_do_not_end_are_cancelled_after_the_grace_period() -> None:
    """A stop must end."""
    operator = Operator("op")

    @operator.reconciler(ConfigMap)
    async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
        await cluster.clock.sleep(1e6)

    async with Cluster.start(clock=FakeClock()) as cluster, asyncio.TaskGroup() as tasks:
        stopping = tasks.create_task(_run_briefly(cluster, operator))
        await clock_of(cluster).advance(29.0)
        assert not stopping.done()
        await clock_of(cluster).advance(2.0)
        assert stopping.done()


async def test_only_the_leader_reconciles_and_its_successor_starts_at_once() -> None:
    """The caches of the successor are warm, the lease is handed over, and nothing is done twice."""
    runs: list[str] = []
    async with Cluster.start(clock=FakeClock()) as cluster, replica(cluster, copier(runs, "a"), "a") as first:
        await cluster.client.create(ConfigMap(meta("x")))
        async with replica(cluster, copier(runs, "b"), "b", leads=False):
            await clock_of(cluster).advance(5.0)
            assert runs == ["a:x"]
            first.cancel()
            await clock_of(cluster).advance(0.5)
            await cluster.client.create(ConfigMap(meta("y")))
            await clock_of(cluster).settle()
            assert runs[-1] == "b:y"
            assert (await cluster.client.get(Lease, "op")).spec.holder_identity == "b"


async def test_a_leader_whose_runs_are_cut_off_does_not_release_its_lease() -> None:
    """Its last write may still be on its way: a successor that starts at once would meet it."""
    operator = Operator("op")

    @operator.reconciler(ConfigMap)
    async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
        await cluster.clock.sleep(1e6)

    async with Cluster.start(clock=FakeClock()) as cluster, replica(cluster, operator, "a") as first:
        await cluster.client.create(ConfigMap(meta("x")))
        await clock_of(cluster).settle()
        first.cancel()
        await clock_of(cluster).advance(31.0)
        assert first.done()
        assert (await cluster.client.get(Lease, "op")).spec.holder_identity == "a"


async def test_a_standby_replica_is_ready_except_for_the_check_started() -> None:
    """It serves webhooks and must not stop a rollout: the Deployment probes /readyz?exclude=started."""
    async with Cluster.start(clock=FakeClock()) as cluster, replica(cluster, copier([], "a"), "a"):
        standby = Manager([copier([], "b")], cluster.transport, election("b"), clock=cluster.clock)
        async with background(standby.run(), name="standby"):
            await clock_of(cluster).advance(5.0)
            assert standby.readiness.failing(exclude=["started"]) == {}
            assert set(standby.readiness.failing()) == {"started"}


async def test_a_leader_without_a_connection_stops_writing_and_ends() -> None:
    """After the renew deadline none of its requests reaches the cluster."""
    runs: list[str] = []
    async with Cluster.start(clock=FakeClock()) as cluster:
        with pytest.raises(LeadershipLost):
            await _cut_off(cluster, copier(runs))
        cluster.faults.clear()
        await cluster.client.create(ConfigMap(meta("late")))
        await clock_of(cluster).advance(5.0)
        assert cluster.list(Secret) == []


async def _cut_off(cluster: Cluster, operator: Operator) -> None:
    async with replica(cluster, operator, "a"):
        cluster.faults.inject(Reset(), path="/leases", times=None)
        await clock_of(cluster).advance(10.5)


@asynccontextmanager
async def replica(
    cluster: Cluster, operator: Operator, name: str, *, leads: bool = True
) -> AsyncIterator[asyncio.Task[None]]:
    """Run one replica of an operator."""
    manager = Manager([operator], cluster.transport, election(name), clock=cluster.clock)
    async with background(manager.run(), name=f"manager-{name}") as task:
        await clock_of(cluster).settle()
        if leads:
            await manager.wait_ready()
        yield task


async def test_probes_and_metrics_show_its_state() -> None:
    """Readiness by check, metrics with controller-runtime's names."""
    runs: list[str] = []
    async with Cluster.start() as cluster:
        options = ManagerOptions(probes=Listen())
        async with cluster.running(copier(runs), options=options) as manager:
            await cluster.client.create(ConfigMap(meta("a")))
            await cluster.eventually(lambda: runs == ["op:a"])
            await cluster.settle()
            http = HttpTransport(ClusterConfig(server=manager.probe_url), clock=cluster.clock)
            try:
                ready = await http.request(Request("GET", "/readyz?verbose"))
                assert ready.status == 200
                assert b"[+]informer/configmaps.v1 ok" in ready.body
                assert (await http.request(Request("GET", "/healthz"))).body == b"ok"
                assert (await http.request(Request("GET", "/nothing"))).status == 404
                text = (await http.request(Request("GET", "/metrics"))).body.decode()
            finally:
                await http.close()
        for line in (
            'controller_runtime_reconcile_total{controller="configmap",result="success"} 1.0',
            'controller_runtime_max_concurrent_reconciles{controller="configmap"} 1.0',
            'workqueue_adds_total{controller="configmap",name="configmap"} 1.0',
            'workqueue_depth{controller="configmap",name="configmap",priority="0"} 0.0',
            'steersman_informer_objects{resource="configmaps.v1"} 1.0',
        ):
            assert line in text, line


async def test_two_caches_of_a_kind_are_one_metric_and_one_check() -> None:
    """Prometheus rejects a page with the same series twice, and the stale one of two must not hide behind the other."""
    operator = Operator("twice")

    @operator.reconciler(
        Secret, owns=[Owned(ConfigMap, labels={"a": "b"})], watches=[Watch(ConfigMap, to=lambda _: [])]
    )
    async def reconcile(_: Secret, __: Context[Secret]) -> None: ...

    async with Cluster.start(clock=FakeClock()) as cluster, cluster.running(operator) as manager:
        await cluster.client.create(ConfigMap(meta("in", labels={"a": "b"})))
        await cluster.client.create(ConfigMap(meta("out")))
        await cluster.settle()
        lines = manager.metrics.text().decode().splitlines()
        objects = [line for line in lines if line.startswith('steersman_informer_objects{resource="configmaps.v1"}')]
        assert objects == ['steersman_informer_objects{resource="configmaps.v1"} 3.0'], "in and out; in"
        (size,) = [line for line in lines if line.startswith('steersman_informer_bytes{resource="configmaps.v1"}')]
        assert float(size.split()[-1]) > 500
        cluster.faults.inject(Refuse(503, "ServiceUnavailable"), path="/configmaps.*labelSelector", times=None)
        cluster.faults.drop("labelSelector")
        await clock_of(cluster).advance(200.0)
        assert "no data" in manager.readiness.failing()["informer/configmaps.v1"]


async def test_a_stale_cache_makes_it_not_ready() -> None:
    """Ready with a dead watch would be worse than no probe."""
    async with Cluster.start(clock=FakeClock()) as cluster, cluster.running(copier([])) as manager:
        assert manager.readiness.failing() == {}
        cluster.faults.inject(Refuse(503, "ServiceUnavailable"), path="/configmaps", times=None)
        cluster.faults.drop("/configmaps")
        await clock_of(cluster).advance(200.0)
        assert "no data" in manager.readiness.failing()["informer/configmaps.v1"]


async def test_an_optional_kind_does_not_delay_the_start_and_works_once_it_is_served() -> None:
    """An operator can support a kind that not every cluster has."""
    operator = Operator("op")
    runs: list[str] = []

    @operator.reconciler(ConfigMap)
    async def configure(source: ConfigMap, _: Context[ConfigMap]) -> None:
        runs.append(source.name)

    @operator.reconciler(Widget, optional=True)
    async def reconcile(widget: Widget, _: Context[Widget]) -> None:
        runs.append(widget.name)

    async with Cluster.start(clock=FakeClock()) as cluster, cluster.running(operator) as manager:
        await clock_of(cluster).advance(100.0)
        assert manager.readiness.failing() == {}
        await cluster.client.create(DEFINITION)
        await clock_of(cluster).advance(0.5)
        await cluster.client.create(Widget(meta("w"), WidgetSpec()))
        await cluster.settle()
        assert runs == ["w"]


async def test_leaving_a_cluster_with_a_stopped_clock_does_not_hang() -> None:
    """A reconcile that waits for time gets its grace period even if no test advances the clock."""
    operator = Operator("op")

    @operator.reconciler(ConfigMap)
    async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
        await cluster.clock.sleep(1e6)

    async with Cluster.start(clock=FakeClock()) as cluster:
        async with cluster.running(operator):
            await cluster.client.create(ConfigMap(meta("a")))
            await clock_of(cluster).settle()
        assert cluster.clock.monotonic() >= 30.0
