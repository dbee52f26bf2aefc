"""The cluster around the operator that `steer dev` runs."""

from pathlib import Path

import pytest

from steersman import meta
from steersman.apiserver.access.authentication import ADMIN
from steersman.apiserver.local import local_server
from steersman.cli.dev.local_cluster import local_cluster
from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.localcluster.process_node.options import ProcessNodeOptions
from steersman.scaffold.project import images_of
from steersman.testing.eventually import eventually
from steersman.transport.in_memory import InMemoryTransport

CLOCK = RealClock()


async def node_of_a_pod(node: ProcessNodeOptions | None, *, keep: bool = False) -> str:
    """Run a pod until it is ready; return the node that it ran on."""
    async with local_server() as server, local_cluster(server, CLOCK, node, keep=keep):
        transport = InMemoryTransport(server.api.acting_as(ADMIN), clock=CLOCK)
        client = Client(transport, clock=CLOCK)
        spec = PodSpec(containers=[Container(name="main", image="sleeper")])
        pod = await client.create(Pod(meta("a", namespace="default"), spec=spec))

        async def is_ready() -> bool:
            nonlocal pod
            pod = await client.get(Pod, "a", "default")
            return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or [])

        await eventually(is_ready, clock=CLOCK, within=20)
        await transport.close()
        return pod.spec.node_name or ""


async def test_a_simulated_node_makes_pods_ready_without_running_programs() -> None:
    """A project need not configure what its images are."""
    assert await node_of_a_pod(None) not in ("", "process")


@pytest.mark.parametrize("keep", [True, False])
async def test_a_process_node_runs_pods_and_deletes_their_folders(tmp_path: Path, *, keep: bool) -> None:
    """Files that pods write are in a folder that is deleted with the cluster, unless the cluster is stored."""
    data = tmp_path / "node"
    options = ProcessNodeOptions(images={"sleeper": ["sleep", "1000"]}, data=data, stop_seconds=1.0)
    assert await node_of_a_pod(options, keep=keep) == "process"
    assert data.exists() is keep


@pytest.mark.parametrize(
    ("text", "images"), [("", {}), ('[tool.steersman.images]\n"redis:*" = "redis-server"', {"redis:*": "redis-server"})]
)
def test_a_project_maps_images_to_programs(tmp_path: Path, text: str, images: dict[str, str]) -> None:
    """If it maps none, pods are simulated."""
    (tmp_path / "pyproject.toml").write_text(text)
    assert images_of(tmp_path) == images


def test_images_that_are_not_a_table_are_reported(tmp_path: Path) -> None:
    """One sentence with the file."""
    (tmp_path / "pyproject.toml").write_text("[tool.steersman]\nimages = 3\n")
    with pytest.raises(ConfigError, match=r"pyproject.toml: \[tool.steersman.images\] must be a table"):
        images_of(tmp_path)
