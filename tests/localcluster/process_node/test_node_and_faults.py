"""The node itself: its restart, exclusive use of its directory, and faults that tests inject into its pods."""

import asyncio
from pathlib import Path

import pytest

from steersman.errors import ConfigError
from steersman.kinds.events_v1 import Event
from steersman.localcluster.process_node.faults import PodFaults
from steersman.testing.cluster import Cluster
from tests.localcluster.process_node.conftest import IDLE, StartNode, placed, script
from tests.localcluster.process_node.looks import (
    POD_IP,
    claim,
    container_of,
    is_alive,
    is_ready,
    names,
    output_of,
    phase_of,
    pod_of,
    state,
    with_claim,
)


async def test_a_restarted_node_starts_its_pods_again(cluster: Cluster, start_node: StartNode) -> None:
    """With their addresses, their claims, and one more restart; finished containers stay finished."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script(IDLE)))
        await cluster.client.create(placed("b", script("print('once')"), restart_policy="Never"))
        await cluster.eventually(lambda: is_ready(cluster) and phase_of(cluster, "b") == "Succeeded")
        before = pod_of(cluster).status.pod_ip
        pid = node.pod("a").runs["main"].process.pid
    assert not is_alive(pid)
    async with start_node() as node:
        await cluster.eventually(lambda: container_of(cluster).restart_count == 1 and is_ready(cluster))
        assert pod_of(cluster).status.pod_ip == before
        assert phase_of(cluster, "b") == "Succeeded"
        assert not node.pod("b").runs


async def test_a_disk_that_cannot_be_written_does_not_block_other_pods(cluster: Cluster, start_node: StartNode) -> None:
    """The pod reports the reason, and runs once there is space."""
    async with start_node() as node:
        in_the_way = node.options.data / "pods"
        in_the_way.touch()
        await cluster.client.create(placed("a" * 200, script(IDLE)))
        await cluster.eventually(lambda: any("gets no place" in (event.note or "") for event in cluster.list(Event)))
        in_the_way.unlink()
        await cluster.eventually(lambda: is_ready(cluster, "a" * 200))


async def test_two_nodes_cannot_share_a_directory(cluster: Cluster, start_node: StartNode) -> None:
    """They would end each other's processes."""
    async with start_node() as node:
        await cluster.eventually((node.options.data / "lock").exists)
        with pytest.raises(ConfigError, match="another process node uses this directory"):
            async with start_node():
                await asyncio.get_running_loop().create_future()


async def test_the_directory_of_a_node_is_private(cluster: Cluster, start_node: StartNode) -> None:
    """It contains Secrets."""
    async with start_node() as node:
        await cluster.eventually((node.options.data / "lock").exists)
        assert node.options.data.stat().st_mode & 0o777 == 0o700


async def test_a_killed_container_is_restarted(cluster: Cluster, start_node: StartNode) -> None:
    """The fault that every database operator must survive."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script(IDLE)))
        await cluster.eventually(lambda: is_ready(cluster))
        PodFaults(node, "a").kill()
        await cluster.eventually(lambda: container_of(cluster).restart_count == 1 and is_ready(cluster))
        last = container_of(cluster).last_state
        assert last is not None
        assert last.terminated is not None
        assert last.terminated.exit_code == 137


async def test_a_container_can_be_made_to_hang(cluster: Cluster, start_node: StartNode) -> None:
    """It still runs, but does not answer until it is resumed."""
    async with start_node() as node:
        await cluster.client.create(placed("a", script(IDLE)))
        await cluster.eventually(lambda: is_ready(cluster))
        faults = PodFaults(node, "a")
        pid = node.pod("a").runs["main"].process.pid
        faults.hang()
        await cluster.eventually(lambda: state(pid) == "T")
        faults.go_on()
        await cluster.eventually(lambda: state(pid) != "T")


async def test_a_wiped_volume_is_empty(cluster: Cluster, start_node: StartNode) -> None:
    """A lost disk: the member must copy its data from the others."""
    async with start_node() as node:
        await cluster.client.create(claim("data"))
        pod = with_claim("a", "open('/data/x', 'w').write('1'); import time; time.sleep(600)")
        await cluster.client.create(pod)
        await cluster.eventually(lambda: is_ready(cluster))
        place = Path(node.pod("a").volume("data"))
        await cluster.eventually((place / "x").exists)
        PodFaults(node, "a").wipe("data")
        assert names(place) == []


async def test_a_pod_can_change_its_address(cluster: Cluster, start_node: StartNode) -> None:
    """As when it is moved: all its containers restart with the new address."""
    async with start_node() as node:
        await cluster.client.create(
            placed("a", script("import os; print(os.environ['POD_IP'], flush=True);" + IDLE, env=[POD_IP]))
        )
        await cluster.eventually(lambda: is_ready(cluster))
        before = pod_of(cluster).status.pod_ip
        after = PodFaults(node, "a").change_address()
        assert after != before
        await cluster.eventually(lambda: pod_of(cluster).status.pod_ip == after and is_ready(cluster))
        await cluster.eventually(lambda: output_of(node)[:1] == [after])
