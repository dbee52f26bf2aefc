"""Planned = done: what a plan says is what the operator then does, for every example and each of its samples."""

import pytest

from steersman.manager.manager import ManagerOptions
from steersman.testing import Cluster, FakeClock, apply_samples
from steersman.testing.webhook_listener import InProcessListener
from tests.support.planned_examples import CALLS, DRAWN, operator_of, service_of
from tests.support.worlds import done, planned, running, without, world_of
from tools.examples import EXAMPLES, examples


@pytest.mark.parametrize("example", examples())
async def test_what_is_planned_is_done(cluster: Cluster, fake_clock: FakeClock, example: str) -> None:
    """A plan that differs from what happens then is worse than none."""
    operator = operator_of(example)
    if operator.not_planned:
        pytest.skip(operator.not_planned)
    await cluster.install(*operator.kinds)
    await apply_samples(cluster, EXAMPLES / example / "samples")
    for url, app in service_of(example, fake_clock).items():
        cluster.serve_http(url, app)
    before = await world_of(cluster.client, operator, "")
    version = cluster.server.objects.version
    plan = await cluster.plan(operator)
    assert cluster.server.objects.version == version
    assert not plan.failures, str(plan)
    assert {(call.system, call.description) for call in plan.calls} == CALLS.get(example, set())
    options = ManagerOptions(install_crds=True, webhooks=InProcessListener("plan", cluster.serve_webhooks))
    async with running(cluster.client, operator, options, clock=fake_clock, services=cluster.services) as manager:
        with cluster.waiting_for(manager):
            await cluster.settle()
            after = await world_of(cluster.client, operator, "")
            assert without(DRAWN, planned(plan)) == without(DRAWN, done(before, after))
            # Retries that are due later: a plan makes them at once.
            await fake_clock.advance(300)
            await cluster.settle()
        again = await cluster.plan(operator)
    assert again.is_empty, str(again)
