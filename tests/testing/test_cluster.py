"""The tools that users test with."""

import time

import pytest

from steersman.clock import RealClock
from steersman.controller.context import Context
from steersman.errors import ConnectionLost, InternalError, WaitTimeout
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.eventually import eventually
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Before, Lose, Refuse, Reset


async def test_a_whole_test_takes_less_than_fifty_milliseconds() -> None:
    """Server, operator, a change and its result: fast enough to have thousands of them."""

    async def whole() -> float:
        operator = Operator("fast")
        operator.permit(ConfigMap, "patch")

        @operator.reconciler(ConfigMap)
        async def reconcile(source: ConfigMap, ctx: Context[ConfigMap]) -> None:
            if not source.labels:
                await ctx.patch(source, {"metadata": {"labels": {"seen": "yes"}}})

        started = time.process_time()
        async with Cluster.start() as cluster, cluster.running(operator):
            await cluster.client.create(ConfigMap(meta("a")))
            await cluster.eventually(lambda: cluster.list(ConfigMap)[0].labels)
        return time.process_time() - started

    assert min([await whole() for _ in range(5)]) < 0.05


async def test_eventually_waits_under_a_real_clock() -> None:
    """It checks again until the condition holds."""
    looks: list[int] = []
    await eventually(lambda: looks.append(1) or len(looks) > 3, clock=RealClock())
    assert len(looks) == 4


async def test_eventually_advances_a_fake_clock_from_timer_to_timer() -> None:
    """An hour costs nothing."""
    clock = FakeClock()
    done: list[float] = []
    clock.call_later(3600.0, lambda: done.append(clock.monotonic()))
    await eventually(lambda: done, clock=clock, within=4000.0)
    assert done == [3600.0]


async def test_eventually_reports_the_last_value() -> None:
    """A timeout must explain itself."""

    def three_pods() -> None:
        assert 1 == 3, "only one pod"  # noqa: PLR0133 - the assertion of a user's condition

    with pytest.raises(WaitTimeout, match="three_pods did not come true within 1 s: only one pod"):
        await eventually(three_pods, clock=FakeClock(), within=1.0)


async def test_settle_detects_an_operator_that_never_rests() -> None:
    """A loop is reported instead of waited for."""
    operator = Operator("restless")

    @operator.reconciler(ConfigMap)
    async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
        await cluster.clock.sleep(1e9)

    async with Cluster.start(clock=FakeClock()) as cluster, cluster.running(operator):
        await cluster.client.create(ConfigMap(meta("a")))
        with pytest.raises(WaitTimeout, match="no rest"):
            await cluster.settle(within=0.1)


async def test_faults_match_by_method_and_target() -> None:
    """Each is injected the requested number of times."""
    async with Cluster.start() as cluster:
        struck = cluster.faults.inject(Refuse(500), method="POST", path="/configmaps")
        with pytest.raises(InternalError, match="injected by a test"):
            await cluster.client.create(ConfigMap(meta("a")))
        await cluster.client.create(ConfigMap(meta("a")))
        assert struck.struck == 1
        assert cluster.faults.writes() == ["POST /api/v1/namespaces/default/configmaps"] * 2
        assert cluster.faults.count("POST") == 2


async def test_a_lost_answer_was_carried_out_and_a_reset_was_not() -> None:
    """The two look the same to a client."""
    async with Cluster.start() as cluster:
        for fault, name in ((Lose(), "lost"), (Reset(), "reset")):
            cluster.faults.inject(fault, method="POST")
            with pytest.raises(ConnectionLost):
                await cluster.client.create(ConfigMap(meta(name)))
        assert [one.name for one in cluster.list(ConfigMap)] == ["lost"]


async def test_an_action_can_run_right_before_a_request() -> None:
    """Competing writes come at the worst moment."""
    async with Cluster.start() as cluster:
        seen: list[int] = []
        cluster.faults.inject(Before(lambda: seen.append(len(cluster.list(ConfigMap)))), method="POST")
        await cluster.client.create(ConfigMap(meta("a")))
        assert seen == [0]


async def test_watches_can_be_held_released_and_dropped() -> None:
    """A cache that lags, on demand."""
    clock = FakeClock()
    async with Cluster.start(clock=clock) as cluster, cluster.informer(ConfigMap) as maps:
        cluster.faults.hold("/configmaps")
        await cluster.client.create(ConfigMap(meta("a")))
        await clock.settle()
        assert len(maps) == 0
        cluster.faults.release()
        await clock.settle()
        assert len(maps) == 1
        cluster.faults.drop()
        await cluster.client.create(ConfigMap(meta("b")))
        await clock.advance(5.0)
        assert len(maps) == 2
