"""Planned = done: what a plan says is what the operator then does, for every example and each of its samples."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from steersman import Invalid, Operator, Unstructured
from steersman.manager.manager import ManagerOptions
from steersman.planning import PlanOptions
from steersman.planning.comparison import compare
from steersman.schema.generated_objects import generated
from steersman.schema.versions import Versions
from steersman.testing import Cluster, FakeClock
from steersman.testing.webhook_listener import InProcessListener
from tests.support.planned_examples import CALLS, DRAWN, DRIVERS, create_samples, operator_of, sample_sets, service_of
from tests.support.worlds import done, planned, running, without, world_of
from tools.examples import examples


@pytest.mark.parametrize(("example", "samples"), sample_sets())
async def test_what_is_planned_is_done(
    cluster: Cluster, fake_clock: FakeClock, example: str, samples: tuple[Path, ...]
) -> None:
    """A plan that differs from what happens then is worse than none."""
    operator = operator_of(example)
    if operator.not_planned:
        pytest.skip(operator.not_planned)
    await cluster.install(*operator.kinds)
    await create_samples(cluster.client, samples)
    for url, app in service_of(example, fake_clock).items():
        cluster.serve_http(url, app)
    before = await world_of(cluster.client, operator, "")
    version = cluster.server.objects.version
    plan = await cluster.plan(operator, options=PlanOptions(hash_key=b"k"))
    again = await cluster.plan(operator, options=PlanOptions(hash_key=b"k"))
    assert compare(plan.objects, again.objects) == ()
    assert cluster.server.objects.version == version
    assert not plan.failures, str(plan)
    assert {(call.system, call.description) for call in plan.calls} == CALLS.get(example, set())
    options = ManagerOptions(install_crds=True, webhooks=InProcessListener("plan", cluster.serve_webhooks))
    async with running(cluster.client, operator, options, clock=fake_clock, services=cluster.services) as manager:
        with cluster.waiting_for(manager):
            await cluster.settle()
            # Retries and timers that are due soon: a plan makes them at once.
            await fake_clock.advance(1)
            await cluster.settle()
            after = await world_of(cluster.client, operator, "")
            assert without(DRAWN, planned(plan)) == without(DRAWN, done(before, after))
            await fake_clock.advance(300)
            await cluster.settle()
        again = await cluster.plan(operator)
    assert again.is_empty, str(again)


#: Objects that are generated for each kind of an example.
GENERATED = 6


@pytest.mark.parametrize("example", [name for name in examples() if name not in DRIVERS])
async def test_plans_of_generated_objects_are_done(cluster: Cluster, fake_clock: FakeClock, example: str) -> None:
    """Samples are what authors thought of; generated objects are what a definition allows."""
    operator = operator_of(example)
    await cluster.install(*operator.kinds)
    for url, app in service_of(example, fake_clock).items():
        cluster.serve_http(url, app)
    created = [await try_create(cluster, one) for one in generated_objects(operator)]
    if not any(created):
        pytest.skip("no valid object is found by chance")
    before = await world_of(cluster.client, operator, "")
    plan = await cluster.plan(operator)
    options = ManagerOptions(install_crds=True, webhooks=InProcessListener("plan", cluster.serve_webhooks))
    async with running(cluster.client, operator, options, clock=fake_clock, services=cluster.services) as manager:
        with cluster.waiting_for(manager):
            await cluster.settle()
            # Retries: a plan makes them at once.
            await fake_clock.advance(60)
            await cluster.settle()
            after = await world_of(cluster.client, operator, "")
    failed = {one.object.name for one in plan.failures}
    assert without(DRAWN, planned(plan)) == without(DRAWN, done(before, after)), failed


def generated_objects(operator: Operator) -> Iterator[Unstructured]:
    """Yield valid objects of the kinds that an operator reconciles."""
    for reconciler in operator.reconcilers:
        gvk = reconciler.resource.gvk
        [version] = Versions([reconciler.kind]).all
        for number, one in enumerate(generated(version.schema, gvk.api_version, gvk.kind, count=GENERATED)):
            name = f"{gvk.kind.lower()}-{number}"
            content = {key: value for key, value in one.items() if key != "status"}
            yield Unstructured({**content, "metadata": {"name": name, "namespace": "default"}})


async def try_create(cluster: Cluster, obj: Unstructured) -> bool:
    """Create an object unless the server has a reason not to that is not in its schema."""
    try:
        await cluster.client.create(obj)
    except Invalid:
        return False
    return True
