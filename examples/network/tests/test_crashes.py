"""The operator is gone at any of its writes, here or at the provider, and another instance ends what it began."""

import pytest
from steersman import meta
from steersman.clock import RealClock
from steersman.serving import Server
from steersman.testing import Cluster, Scenario, survive_crashes, survive_process_crashes

from network.api.network_v1 import Network, NetworkSpec
from network.main import operator
from network.neutron import Neutron
from network.provider import URL


def is_ready(cluster: Cluster) -> bool:
    """Tell whether the only network says that it is provided, in its present form."""
    [found] = cluster.list(Network)
    ready = found.status.condition("Ready")
    return ready is not None and (ready.status, ready.observed_generation) == ("True", found.generation)


def create_change_and_delete(neutron: Neutron) -> Scenario:
    """Give the story of a network and its provider."""

    async def story(cluster: Cluster) -> None:
        cluster.serve_http(URL, neutron)
        neutron.networks.clear()
        created = await cluster.client.create(Network(meta("a"), NetworkSpec(cidr="10.0.0.0/16", gateway="10.0.0.1")))
        await cluster.eventually(lambda: is_ready(cluster), within=60)
        await cluster.client.patch(created, {"spec": {"gateway": "10.0.0.2"}})
        await cluster.eventually(lambda: is_ready(cluster), within=60)
        assert [one["gateway"] for one in neutron.networks.values()] == ["10.0.0.2"]
        await cluster.client.delete(created)
        await cluster.eventually(lambda: cluster.list(Network) == [], within=60)
        assert neutron.networks == {}

    return story


async def test_a_crash_at_any_write_leaves_no_network_twice_and_none_behind() -> None:
    """Also at the writes to the provider: between its commit and our status there is no gap to fall into."""
    writes = await survive_crashes(operator, create_change_and_delete(Neutron(clock=RealClock())))
    provider = [write for write in writes if "/v2.0/" in write]
    assert provider == ["POST /v2.0/networks", "PUT /v2.0/networks/net-1", "DELETE /v2.0/networks/net-1"]


async def test_a_kill_leaves_no_network_twice_and_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with real processes and SIGKILL, at two of the writes; STEERSMAN_PROCESS_CRASHES=all takes every one."""
    clock = RealClock()
    neutron = Neutron(clock=clock)
    async with Server(neutron, clock=clock) as server:
        monkeypatch.setenv("NEUTRON_URL", server.url)
        killed = await survive_process_crashes("network.main:operator", create_change_and_delete(neutron), at_most=2)
    assert len(killed) >= 2
