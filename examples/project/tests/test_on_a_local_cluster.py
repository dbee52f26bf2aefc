"""The operator with workload controllers, a scheduler and a node: a Project becomes ready."""

from steersman import meta
from steersman.kinds.core_v1 import Pod
from steersman.localcluster import local_operators
from steersman.testing import Cluster, FakeClock

from project.api.project_v1alpha1 import Project, ProjectSpec
from project.main import operator


async def test_a_project_becomes_ready(cluster: Cluster, fake_clock: FakeClock) -> None:
    """From the Project over Deployment, ReplicaSet and pods back to the status; nothing is left after the deletion."""
    async with cluster.running(*local_operators(), operator):
        project = await cluster.client.create(Project(meta("gzh-cr"), ProjectSpec(replicas=2)))
        await fake_clock.advance(60)
        [found] = cluster.list(Project)
        ready = found.status.condition("Ready")
        assert ready is not None
        assert (ready.status, found.status.replicas) == ("True", 2)
        assert len(cluster.list(Pod, selector=found.status.selector)) == 2

        await cluster.client.delete(project)
        await fake_clock.advance(120)
        assert cluster.list(Pod) == []
