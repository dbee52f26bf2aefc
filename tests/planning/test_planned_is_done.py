"""Planned = done: what a plan says is what the operator then does, for every example and each of its samples."""

from importlib import import_module

import pytest

from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.testing import Cluster, FakeClock, apply_samples
from steersman.testing.webhook_listener import InProcessListener
from tests.support.worlds import done, planned, running, without, world_of
from tools.examples import EXAMPLES, examples

#: Examples whose operators need a database driver, and the driver.
DRIVERS = {"mgors": "pymongo", "redisfailover": "redis"}


#: Calls to other systems that the plan of an example does not make.
CALLS = {"network": {("http://neutron:9696", "POST")}}
#: Fields whose values a plan cannot know, because another system draws them.
DRAWN = (".status.providerID",)


def serve_networks(cluster: Cluster) -> None:
    """Serve the provider of the example ``network``."""
    cluster.serve_http(
        import_module("network.provider").URL, import_module("network.neutron").Neutron(clock=cluster.clock)
    )


def operator_of(example: str) -> Operator:
    """Return the operator of an example."""
    if example in DRIVERS:
        pytest.importorskip(DRIVERS[example])
    return import_module(f"{example}.main").operator


@pytest.mark.parametrize("example", examples())
async def test_what_is_planned_is_done(cluster: Cluster, fake_clock: FakeClock, example: str) -> None:
    """A plan that differs from what happens then is worse than none."""
    operator = operator_of(example)
    if operator.not_planned:
        pytest.skip(operator.not_planned)
    await cluster.install(*operator.kinds)
    await apply_samples(cluster, EXAMPLES / example / "samples")
    if example == "network":
        serve_networks(cluster)
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
