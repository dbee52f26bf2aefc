"""A server that repeats writes of earlier runs leads to the same runs as one that decides all of them."""

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap, ResourceQuota, ResourceQuotaSpec
from steersman.simulation.faults.plans import Plan, parse_plan
from steersman.simulation.runs.instances import OperatorFactory
from steersman.simulation.runs.run import Outcome, run_plan
from steersman.simulation.runs.world import World
from steersman.testing import Cluster, Scenario

PLANS = (
    "crash-after@write:4",
    "crash-before@write:5",
    "watch-expired@event:5",
    "competing-write@write:5",
    "conflict@write:5",
    "forbidden@write:5",
    "recreated@write:4",
    "restart@rest:2",
    "order@seed:1",
    "leader-crash@write:3",
)


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
    deciding.cluster.server.is_repeating = False
    outcome_of(repeating, scenario, Plan())
    for plan in map(parse_plan, PLANS):
        expected, found = outcome_of(deciding, scenario, plan), outcome_of(repeating, scenario, plan)
        assert found.is_complete, plan
        assert found.recording.trace == expected.recording.trace, plan
        assert (found.state, found.changes) == (expected.state, expected.changes), plan
        assert deciding.cluster.server.repeated == 0


@pytest.mark.parametrize(("plan", "repeated"), [("crash-after@write:1", 2), ("crash-after@write:4", 6)])
def test_the_writes_up_to_the_fault_are_repeated(plan: str, repeated: int) -> None:
    """Up to the fault a run is the undisturbed one; the scenario's own writes count, too."""
    world = World(make_operator())
    outcome_of(world, rollout, Plan())
    outcome_of(world, rollout, parse_plan(plan))
    assert world.cluster.server.repeated == repeated


def test_writes_after_the_fault_are_those_of_an_equal_plan() -> None:
    """A crash after a write leaves the same as one before the next: the second run repeats what the first decided."""
    world = World(make_operator())
    outcome_of(world, rollout, Plan())
    outcome_of(world, rollout, parse_plan("crash-after@write:3"))
    before = world.cluster.server.repeated
    outcome = outcome_of(world, rollout, parse_plan("crash-before@write:4"))
    assert world.cluster.server.repeated > before
    assert outcome.is_complete


def test_what_a_run_leads_to_does_not_depend_on_the_runs_before_it() -> None:
    """A worker process runs other plans before, and must reach the same judgement."""
    plan = parse_plan("crash-before@write:3")
    alone, later = World(make_operator()), World(make_operator())
    for earlier in ("undisturbed", "crash-after@write:2", "conflict@write:3"):
        outcome_of(later, rollout, Plan() if earlier == "undisturbed" else parse_plan(earlier))
    expected, found = outcome_of(alone, rollout, plan), outcome_of(later, rollout, plan)
    assert found.recording.trace == expected.recording.trace
    assert later.cluster.server.repeated > alone.cluster.server.repeated == 0
    assert [record.uid for record in later.cluster.server.objects.records_of("configmaps")] == [
        record.uid for record in alone.cluster.server.objects.records_of("configmaps")
    ]


def test_another_seed_repeats_nothing() -> None:
    """Its uids are different ones, and so is every jitter."""
    world = World(make_operator())
    outcome_of(world, rollout, Plan())
    run_plan(world, OperatorFactory(make_operator), rollout, Plan(), seed=2)
    assert world.cluster.server.repeated == 0
