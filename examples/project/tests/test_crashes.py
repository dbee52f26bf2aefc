"""The operator crashes at each of its writes, and another instance takes over."""

from steersman import meta
from steersman.kinds.apps_v1 import Deployment
from steersman.testing import Cluster, survive_crashes, survive_process_crashes

from project.api.project_v1alpha1 import Project, ProjectSpec
from project.main import operator


async def made_and_scaled(cluster: Cluster) -> None:
    """Create and scale one Project, and delete another one."""
    project = await cluster.client.create(Project(meta("gzh-cr"), ProjectSpec(replicas=2)))
    await cluster.eventually(lambda: cluster.list(Deployment))
    await cluster.client.scale(project, 3)
    await cluster.eventually(lambda: cluster.list(Deployment)[0].spec.replicas == 3)
    short = await cluster.client.create(Project(meta("short"), ProjectSpec(replicas=1)))
    await cluster.eventually(lambda: len(cluster.list(Deployment)) == 2)
    await cluster.client.delete(short)
    await cluster.eventually(lambda: len(cluster.list(Deployment)) == 1)


async def test_a_crash_at_any_write_makes_no_difference() -> None:
    """Applying the same object again changes nothing."""
    writes = await survive_crashes(operator, made_and_scaled)
    assert sum("/deployments/" in write for write in writes) == 3


async def test_a_killed_process_makes_no_difference() -> None:
    """With real processes and SIGKILL, at two of the writes."""
    assert len(await survive_process_crashes("project.main:operator", made_and_scaled, at_most=2)) >= 2
