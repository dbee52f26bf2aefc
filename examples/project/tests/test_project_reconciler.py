"""The reconciler of Project, with an API server for each test."""

from steersman import Condition, meta
from steersman.kinds.apps_v1 import Deployment
from steersman.kinds.events_v1 import Event
from steersman.testing import Cluster, FakeClock

from project.api.project_v1alpha1 import Project, ProjectSpec
from project.main import operator
from project.reconcilers.project_reconciler import deployment_of


async def create(cluster: Cluster, replicas: int = 2) -> Project:
    """Create the article's object."""
    return await cluster.client.create(Project(meta("gzh-cr"), ProjectSpec(replicas=replicas)))


async def make_available(cluster: Cluster, replicas: int) -> None:
    """Set the status of the Deployment as its controller would."""
    [deployment] = cluster.list(Deployment)
    await cluster.client.status.patch(
        deployment, {"status": {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}}
    )


def ready(cluster: Cluster) -> Condition:
    """Return the condition Ready."""
    found = cluster.list(Project)[0].status.condition("Ready")
    assert found is not None
    return found


def reasons(cluster: Cluster) -> list[str]:
    """Return the reasons of all events."""
    return [event.reason or "" for event in cluster.list(Event)]


async def test_a_project_becomes_a_deployment(cluster: Cluster) -> None:
    """The article leaves this part to the reader."""
    async with cluster.running(operator):
        project = await create(cluster)
        await cluster.settle()
        [deployment] = cluster.list(Deployment)
        assert deployment.spec.replicas == 2
        assert deployment.controller is not None
        assert deployment.controller.uid == project.uid
        assert (ready(cluster).status, ready(cluster).message) == ("False", "0 of 2 available")
        await make_available(cluster, 2)
        await cluster.settle()
        assert ready(cluster).status == "True"
        assert cluster.list(Project)[0].status.replicas == 2
        assert cluster.list(Project)[0].status.selector == "project=gzh-cr"


async def test_scaling_a_project_scales_its_deployment(cluster: Cluster) -> None:
    """`kubectl scale project` must work, and an autoscaler must find the pods."""
    async with cluster.running(operator):
        project = await create(cluster)
        await cluster.settle()
        scale = await cluster.client.scale(project, 5)
        assert scale.status is not None
        assert scale.status.selector == "project=gzh-cr"
        await cluster.settle()
        assert cluster.list(Deployment)[0].spec.replicas == 5
        assert reasons(cluster) == ["Created", "Scaled"]


async def test_a_foreign_deployment_of_that_name_is_not_adopted(cluster: Cluster, fake_clock: FakeClock) -> None:
    """An object must not change its owner because of a name; after it is deleted, the name is free."""
    foreign = deployment_of(Project(meta("gzh-cr"), ProjectSpec(replicas=7)))
    foreign = await cluster.client.create(foreign)
    async with cluster.running(operator):
        await create(cluster)
        await fake_clock.advance(1800)
        [untouched] = cluster.list(Deployment)
        assert (untouched.uid, untouched.resource_version) == (foreign.uid, foreign.resource_version)
        assert ready(cluster).reason == "NotControlledByUs"
        assert reasons(cluster) == ["NotControlledByUs"]
        await cluster.client.delete(foreign)
        await cluster.settle()
        assert ready(cluster).reason == "NotAvailable"
        assert cluster.list(Deployment)[0].spec.replicas == 2


async def test_a_deleted_or_changed_deployment_is_restored(cluster: Cluster) -> None:
    """Manual changes are reverted."""
    async with cluster.running(operator):
        await create(cluster)
        await cluster.settle()
        await cluster.client.patch(cluster.list(Deployment)[0], {"spec": {"replicas": 9}})
        await cluster.settle()
        assert cluster.list(Deployment)[0].spec.replicas == 2
        await cluster.client.delete(cluster.list(Deployment)[0])
        await cluster.settle()
        assert cluster.list(Deployment)[0].spec.replicas == 2


async def test_a_settled_project_causes_no_writes(cluster: Cluster, fake_clock: FakeClock) -> None:
    """For half an hour."""
    async with cluster.running(operator):
        await create(cluster)
        await cluster.settle()
        await make_available(cluster, 2)
        await fake_clock.advance(600)
        cluster.faults.clear()
        await fake_clock.advance(30 * 60)
        assert cluster.faults.writes() == []


async def test_nothing_is_left_of_a_deleted_project(cluster: Cluster) -> None:
    """The garbage collector deletes the Deployment."""
    async with cluster.running(operator):
        project = await create(cluster)
        await cluster.settle()
        await cluster.client.delete(project)
        await cluster.eventually(lambda: cluster.list(Deployment) == [])
        await cluster.settle()
        assert cluster.list(Project) == []
