"""The operator is gone at any of its writes, and another instance ends what it began."""

from steersman import meta
from steersman.kinds.apps_v1 import Deployment
from steersman.testing import Cluster, survive_crashes, survive_process_crashes

from project.api.project_v1alpha1 import Project, ProjectSpec
from project.main import operator


async def made_and_scaled(cluster: Cluster) -> None:
    """Tell of a Project that is made and scaled, and of one that is deleted."""
    project = await cluster.client.create(Project(meta("gzh-cr"), ProjectSpec(replicas=2)))
    await cluster.eventually(lambda: cluster.list(Deployment))
    await cluster.client.scale(project, 3)
    await cluster.eventually(lambda: cluster.list(Deployment)[0].spec.replicas == 3)
    short = await cluster.client.create(Project(meta("short"), ProjectSpec(replicas=1)))
    await cluster.eventually(lambda: len(cluster.list(Deployment)) == 2)
    await cluster.client.delete(short)
    await cluster.eventually(lambda: len(cluster.list(Deployment)) == 1)


async def test_a_crash_at_any_write_makes_no_difference() -> None:
    """Applying the same intent again is harmless."""
    writes = await survive_crashes(operator, made_and_scaled)
    assert sum("/deployments/" in write for write in writes) == 3


async def test_a_kill_makes_no_difference() -> None:
    """The same with real processes and SIGKILL, at two of the writes."""
    assert len(await survive_process_crashes("project.main:operator", made_and_scaled, at_most=2)) >= 2
