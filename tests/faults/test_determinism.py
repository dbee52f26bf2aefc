"""Equal seeds cause equal runs: a failure that was found once can be found again."""

from steersman.manager.manager import ManagerOptions
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.faults.test_operator_faults import STEPS, WATCH_FAULTS, clock_of, parts_operator
from tests.support.widgets import DEFINITION


async def trace(seed: int, fault: str) -> list[tuple[str, str, bytes]]:
    """Return all requests of an operator and a user, with one fault after each step."""
    options = ManagerOptions(definitions=[DEFINITION])
    async with Cluster.start(clock=FakeClock(), seed=seed) as cluster:
        async with cluster.running(parts_operator(), options=options):
            for step in STEPS:
                await step(cluster)
                await clock_of(cluster).advance(0.1)
                WATCH_FAULTS[fault](cluster)
                await clock_of(cluster).advance(60.0)
        return [(request.method, request.target, request.body) for request in cluster.faults.requests]


async def test_a_run_can_be_repeated_exactly() -> None:
    """Clock, randomness and transport are injected, so nothing else determines what happens."""
    for fault in WATCH_FAULTS:
        first, second = await trace(3, fault), await trace(3, fault)
        assert len(first) > 20
        assert first == second, fault
    assert await trace(3, "dropped") != await trace(4, "dropped")
