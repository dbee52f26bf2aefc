"""The reconciler of Foo, with an API server for each test. The first four are the original's tests."""

import pytest
from steersman import Condition, Invalid, meta
from steersman.kinds.apps_v1 import Deployment
from steersman.kinds.events_v1 import Event
from steersman.testing import Cluster, FakeClock, Lose

from samplecontroller.api.foo_v1alpha1 import Foo, FooSpec
from samplecontroller.main import operator
from samplecontroller.reconcilers.foo_reconciler import deployment_of


async def create(cluster: Cluster, replicas: int | None = 1, deployment: str | None = "test-deployment") -> Foo:
    """Return a Foo."""
    return await cluster.client.create(Foo(meta("test"), FooSpec(deployment_name=deployment, replicas=replicas)))


def ready(cluster: Cluster) -> Condition:
    """Return the condition Ready."""
    found = cluster.list(Foo)[0].status.condition("Ready")
    assert found is not None
    return found


def reasons(cluster: Cluster) -> list[str]:
    """Return the reasons of all events."""
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
    """A Deployment that matches is left alone: no write, no event, for half an hour."""
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
    """Another number of replicas is applied to the Deployment, which stays the same object."""
    async with cluster.running(operator):
        foo = await create(cluster)
        await cluster.settle()
        [before] = cluster.list(Deployment)
        await cluster.client.patch(foo, {"spec": {"replicas": 2}})
        await cluster.settle()
        [after] = cluster.list(Deployment)
        assert (after.uid, after.spec.replicas) == (before.uid, 2)


async def test_not_controlled_by_us(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A Deployment of another owner is not adopted; after it is deleted, the Foo gets its own."""
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


async def test_a_template_that_was_changed_by_hand_is_restored(cluster: Cluster) -> None:
    """The original compares only the number of replicas."""
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


async def test_a_foo_without_replicas_leaves_them_alone(cluster: Cluster) -> None:
    """An autoscaler may have set it."""
    async with cluster.running(operator):
        await create(cluster, replicas=None)
        await cluster.settle()
        await cluster.client.scale(cluster.list(Deployment)[0], 4)
        await cluster.settle()
        assert cluster.list(Deployment)[0].spec.replicas == 4


async def test_a_changed_name_replaces_the_deployment(cluster: Cluster) -> None:
    """The original leaves the old one behind."""
    async with cluster.running(operator):
        foo = await create(cluster)
        await cluster.settle()
        await cluster.client.patch(foo, {"spec": {"deploymentName": "renamed"}})
        await cluster.settle()
        assert [deployment.name for deployment in cluster.list(Deployment)] == ["renamed"]


async def test_a_foo_without_a_name_is_reported_and_not_retried(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A retry cannot help, only another spec."""
    async with cluster.running(operator):
        foo = await create(cluster, deployment=None)
        await fake_clock.advance(1800)
        assert ready(cluster).reason == "DeploymentNameMissing"
        assert reasons(cluster) == ["DeploymentNameMissing"]
        await cluster.client.patch(foo, {"spec": {"deploymentName": "named"}})
        await cluster.settle()
        assert [deployment.name for deployment in cluster.list(Deployment)] == ["named"]


async def test_a_lost_response_does_not_make_our_deployment_foreign(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The Deployment was created for the Foo although the response was lost."""
    async with cluster.running(operator):
        cluster.faults.hold("/deployments")
        cluster.faults.inject(Lose(), method="PATCH", path="/deployments/")
        await create(cluster)
        await fake_clock.advance(10)
        cluster.faults.release()
        await cluster.settle()
        assert ready(cluster).reason == "NotAvailable"


async def test_nothing_is_left_of_a_deleted_foo(cluster: Cluster) -> None:
    """The garbage collector deletes the Deployment."""
    async with cluster.running(operator):
        foo = await create(cluster)
        await cluster.settle()
        await cluster.client.delete(foo)
        await cluster.eventually(lambda: cluster.list(Deployment) == [])
        await cluster.settle()
        assert cluster.list(Foo) == []


@pytest.mark.parametrize("replicas", [0, 11])
async def test_replicas_out_of_bounds_are_rejected(cluster: Cluster, replicas: int) -> None:
    """The bounds are those of the original."""
    await cluster.install(Foo)
    with pytest.raises(Invalid, match=r"spec\.replicas"):
        await create(cluster, replicas=replicas)
