"""What the operator does for a Foo, on an API server of each test's own. The first four are the original's tests."""

import pytest
from steersman import Condition, Invalid, meta
from steersman.kinds.apps_v1 import Deployment
from steersman.kinds.events_v1 import Event
from steersman.testing import Cluster, FakeClock, Lose

from samplecontroller.api.foo_v1alpha1 import Foo, FooSpec
from samplecontroller.main import operator
from samplecontroller.reconcilers.foo_reconciler import deployment_of


async def create(cluster: Cluster, replicas: int | None = 1, deployment: str | None = "test-deployment") -> Foo:
    """Make a Foo."""
    return await cluster.client.create(Foo(meta("test"), FooSpec(deployment_name=deployment, replicas=replicas)))


def ready(cluster: Cluster) -> Condition:
    """Give the condition that says it all."""
    found = cluster.list(Foo)[0].status.condition("Ready")
    assert found is not None
    return found


def reasons(cluster: Cluster) -> list[str]:
    """Give what people are told."""
    return [event.reason or "" for event in cluster.list(Event)]


async def test_creates_deployment(cluster: Cluster) -> None:
    """A Foo without a Deployment gets one, and its status."""
    async with cluster.running(operator):
        foo = await create(cluster)
        await cluster.settle()
        [deployment] = cluster.list(Deployment)
        assert (deployment.name, deployment.spec.replicas) == ("test-deployment", 1)
        assert deployment.is_controlled_by(foo)
        assert deployment.spec.selector.match_labels == {"app": "nginx", "controller": "test"}
        assert cluster.list(Foo)[0].status.observed_generation == 1
        assert reasons(cluster) == ["Synced"]


async def test_do_nothing(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A Deployment that is as it should be is left as it is: no write, no event, for half an hour."""
    async with cluster.running(operator):
        await create(cluster)
        await cluster.settle()
        [deployment] = cluster.list(Deployment)
        await cluster.client.status.patch(
            deployment, {"status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}}
        )
        await fake_clock.advance(600)
        cluster.faults.clear()
        await fake_clock.advance(30 * 60)
        assert cluster.faults.writes() == []
        assert ready(cluster).status == "True"
        assert cluster.list(Foo)[0].status.available_replicas == 1


async def test_update_deployment(cluster: Cluster) -> None:
    """Another number of replicas reaches the Deployment, which stays the same object."""
    async with cluster.running(operator):
        foo = await create(cluster)
        await cluster.settle()
        [before] = cluster.list(Deployment)
        await cluster.client.patch(foo, {"spec": {"replicas": 2}})
        await cluster.settle()
        [after] = cluster.list(Deployment)
        assert (after.uid, after.spec.replicas) == (before.uid, 2)


async def test_not_controlled_by_us(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A Deployment that somebody else made is not adopted; when it is gone, the Foo gets its own."""
    await cluster.install(Foo)
    foreign = await cluster.client.create(deployment_of(Foo(meta("test"), FooSpec(replicas=7)), "test-deployment"))
    async with cluster.running(operator):
        await create(cluster)
        await fake_clock.advance(1800)
        assert cluster.list(Deployment)[0].resource_version == foreign.resource_version
        assert ready(cluster).reason == "ErrResourceExists"
        assert reasons(cluster) == ["ErrResourceExists"]
        await cluster.client.delete(foreign)
        await cluster.settle()
        assert cluster.list(Deployment)[0].spec.replicas == 1


async def test_a_template_that_was_changed_by_hand_is_put_right(cluster: Cluster) -> None:
    """The original looks at the number of replicas only."""
    async with cluster.running(operator):
        await create(cluster)
        await cluster.settle()
        [deployment] = cluster.list(Deployment)
        container = {"name": "nginx", "image": "example.com/intruder"}
        await cluster.client.patch(deployment, {"spec": {"template": {"spec": {"containers": [container]}}}})
        await cluster.settle()
        template = cluster.list(Deployment)[0].spec.template.spec
        assert template is not None
        assert [one.image for one in template.containers] == ["nginx:latest"]


async def test_a_number_that_the_foo_does_not_name_is_not_the_foos(cluster: Cluster) -> None:
    """An autoscaler may have set it."""
    async with cluster.running(operator):
        await create(cluster, replicas=None)
        await cluster.settle()
        await cluster.client.scale(cluster.list(Deployment)[0], 4)
        await cluster.settle()
        assert cluster.list(Deployment)[0].spec.replicas == 4


async def test_another_name_is_another_deployment(cluster: Cluster) -> None:
    """The original leaves the one of the old name behind."""
    async with cluster.running(operator):
        foo = await create(cluster)
        await cluster.settle()
        await cluster.client.patch(foo, {"spec": {"deploymentName": "renamed"}})
        await cluster.settle()
        assert [deployment.name for deployment in cluster.list(Deployment)] == ["renamed"]


async def test_a_foo_without_a_name_is_told_and_waits(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Trying again cannot help; a name can."""
    async with cluster.running(operator):
        foo = await create(cluster, deployment=None)
        await fake_clock.advance(1800)
        assert ready(cluster).reason == "DeploymentNameMissing"
        assert reasons(cluster) == ["DeploymentNameMissing"]
        await cluster.client.patch(foo, {"spec": {"deploymentName": "named"}})
        await cluster.settle()
        assert [deployment.name for deployment in cluster.list(Deployment)] == ["named"]


async def test_an_answer_that_is_lost_makes_no_stranger_of_our_own(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The Deployment is there, and it is ours, though nobody heard that it was made."""
    async with cluster.running(operator):
        cluster.faults.hold("/deployments")
        cluster.faults.inject(Lose(), method="PATCH", path="/deployments/")
        await create(cluster)
        await fake_clock.advance(10)
        cluster.faults.release()
        await cluster.settle()
        assert ready(cluster).reason == "NotAvailable"


async def test_nothing_is_left_of_a_foo_that_is_deleted(cluster: Cluster) -> None:
    """The Deployment goes with it; the server sees to that."""
    async with cluster.running(operator):
        foo = await create(cluster)
        await cluster.settle()
        await cluster.client.delete(foo)
        await cluster.eventually(lambda: cluster.list(Deployment) == [])
        await cluster.settle()
        assert cluster.list(Foo) == []


@pytest.mark.parametrize("replicas", [0, 11])
async def test_the_schema_keeps_the_number_in_bounds(cluster: Cluster, replicas: int) -> None:
    """As the original's does."""
    await cluster.install(Foo)
    with pytest.raises(Invalid, match=r"spec\.replicas"):
        await create(cluster, replicas=replicas)
