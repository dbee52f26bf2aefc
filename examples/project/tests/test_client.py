"""The parts of the article's program."""

import pytest
from steersman import NotFound, meta
from steersman.testing import Cluster

from project.api.project_v1alpha1 import Project, ProjectSpec
from project.client import register, run_informer, use_every_verb, watch


async def test_a_kind_is_served_after_it_is_registered(cluster: Cluster) -> None:
    """Right after a CRD was created its objects cannot be listed yet: without waiting the request gets a 404."""
    with pytest.raises(NotFound):
        await cluster.client.create(Project(meta("early"), ProjectSpec(replicas=1)))
    await register(cluster.client)
    await cluster.client.create(Project(meta("in-time"), ProjectSpec(replicas=1)))
    await register(cluster.client)
    assert [project.name for project in cluster.list(Project)] == ["in-time"]


async def test_every_verb_is_typed(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """The article has list, get, create and watch, and leaves the others to the reader."""
    await register(cluster.client)
    await use_every_verb(cluster.client)
    assert capsys.readouterr().out.splitlines() == [
        "created default/typed replicas 2",
        "updated default/typed replicas 3 generation 2",
        "patched default/typed replicas 4 generation 3",
        "projects found: ['typed']",
        "deleted default/typed found then: None",
    ]


async def test_a_watch_delivers_every_change(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Including the deletion."""
    await register(cluster.client)
    await watch(cluster.client)
    assert capsys.readouterr().out.splitlines() == [
        "watched Added watched 1",
        "watched Modified watched 2",
        "watched Deleted watched 2",
    ]


async def test_an_informer_reads_by_namespace_and_name(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """`GetByKey("ns/name")` without a cast; each reader gets its own copy."""
    await register(cluster.client)
    await run_informer(cluster.client)
    assert capsys.readouterr().out.splitlines() == [
        "store has default/some-project",
        "every read returns a new object: True",
    ]
    assert cluster.list(Project) == []
