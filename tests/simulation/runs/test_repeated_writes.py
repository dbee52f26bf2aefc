"""A server that repeats writes up to the fault leads to the same runs as one that decides all of them."""

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap, ResourceQuota, ResourceQuotaSpec
from steersman.simulation.faults.plans import Plan, parse_plan
from steersman.simulation.runs.instances import OperatorFactory
from steersman.simulation.runs.run import Outcome, run_plan
from steersman.simulation.runs.world import World
from steersman.testing import Cluster, Scenario

PLANS = ("crash-after@write:4", "watch-expired@event:5", "competing-write@write:5", "restart@rest:2", "order@seed:1")


class RackSpec(Model):
    """The desired state."""

    slots: int = 2


@custom_resource("simulation.example.com/v1")
class Rack(Resource[RackSpec, Status]):
    """Wants a ConfigMap for each slot."""


def make_operator() -> Operator:
    """Create the operator."""
    operator = Operator("racks")

    @operator.reconciler(Rack, owns=[ConfigMap])
    async def reconcile(rack: Rack, ctx: Context[Rack]) -> None:
        for number in range(rack.spec.slots):
            await ctx.apply(ConfigMap(meta(f"{rack.name}-{number}")))
        await ctx.prune(ConfigMap)

    return operator


async def rollout(cluster: Cluster) -> None:
    """Create a rack, let it grow, and delete it."""
    rack = await cluster.client.create(Rack(meta("a")))
    await cluster.settle()
    await cluster.client.patch(rack, {"spec": {"slots": 4}})
    await cluster.settle()
    await cluster.client.delete(rack)


async def rollout_with_quota(cluster: Cluster) -> None:
    """Do the same under a quota, which counts every ConfigMap."""
    await cluster.client.create(ResourceQuota(meta("few"), spec=ResourceQuotaSpec(hard={"count/configmaps": "10"})))
    await rollout(cluster)


def outcome_of(world: World, scenario: Scenario, plan: Plan) -> Outcome:
    """Run a plan in a world."""
    return run_plan(world, OperatorFactory(make_operator), scenario, plan, seed=1)


@pytest.mark.parametrize("scenario", [rollout, rollout_with_quota])
def test_a_run_with_repeated_writes_is_the_same_as_one_without(scenario: Scenario) -> None:
    """A write that is repeated wrongly would make every later judgement wrong, without a sign of it."""
    deciding, repeating = World(make_operator()), World(make_operator())
    outcome_of(repeating, scenario, Plan())
    for plan in map(parse_plan, PLANS):
        expected, found = outcome_of(deciding, scenario, plan), outcome_of(repeating, scenario, plan)
        assert found.is_complete, plan
        assert found.recording.trace == expected.recording.trace, plan
        assert (found.state, found.changes) == (expected.state, expected.changes), plan
        assert deciding.cluster.server.repeated == 0


@pytest.mark.parametrize(("plan", "repeated"), [("crash-after@write:1", 1), ("crash-after@write:4", 5)])
def test_the_writes_before_the_fault_are_repeated(plan: str, repeated: int) -> None:
    """Up to the fault a run is the undisturbed one; the scenario's own writes count, too."""
    world = World(make_operator())
    outcome_of(world, rollout, Plan())
    outcome_of(world, rollout, parse_plan(plan))
    assert world.cluster.server.repeated == repeated


def test_another_seed_repeats_nothing() -> None:
    """Its uids are different ones, and so is every jitter."""
    world = World(make_operator())
    outcome_of(world, rollout, Plan())
    run_plan(world, OperatorFactory(make_operator), rollout, Plan(), seed=2)
    assert world.cluster.server.repeated == 0
