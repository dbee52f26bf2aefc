"""The reconciler of Network, with an API server for each test and a provider that can fail."""

from collections.abc import Awaitable

import pytest
from steersman import Invalid, meta
from steersman.kinds.events_v1 import Event
from steersman.protocol import Exchange, Request
from steersman.testing import Cluster, FakeClock

from network.api.network_v1 import Network, NetworkSpec
from network.main import operator
from network.neutron import Neutron
from network.provider import URL
from network.reconcilers.network_reconciler import DRIFT_CHECK


@pytest.fixture
def neutron(cluster: Cluster) -> Neutron:
    """Return the provider that the operator calls."""
    neutron = Neutron(clock=cluster.clock)
    cluster.serve_http(URL, neutron)
    return neutron


def network(name: str = "a", cidr: str = "192.168.0.0/16", gateway: str = "192.168.0.1") -> Network:
    """Return a network."""
    return Network(meta(name), NetworkSpec(cidr=cidr, gateway=gateway))


def state(cluster: Cluster) -> str:
    """Return status and reason of the conditions of the only network."""
    [found] = cluster.list(Network)
    return " ".join(sorted(f"{one.type}={one.status}/{one.reason}" for one in found.status.conditions))


def reasons(cluster: Cluster) -> list[str]:
    """Return the reasons of all events, oldest first."""
    return [event.reason or "" for event in sorted(cluster.list(Event), key=lambda one: one.resource_version)]


async def test_a_network_is_created_changed_and_deleted(
    cluster: Cluster, fake_clock: FakeClock, neutron: Neutron
) -> None:
    """The life of a network, in its status and at the provider."""
    async with cluster.running(operator):
        created = await cluster.client.create(network())
        await cluster.settle()
        [provided] = neutron.networks.values()
        assert provided == {"id": "net-1", "uid": created.uid, "cidr": "192.168.0.0/16", "gateway": "192.168.0.1"}
        [found] = cluster.list(Network)
        assert found.status.provider_id == "net-1"
        assert state(cluster) == "Ready=True/Provisioned Synced=True/UpToDate"

        await cluster.client.patch(created, {"spec": {"gateway": "192.168.0.254"}})
        await cluster.settle()
        assert neutron.networks["net-1"]["gateway"] == "192.168.0.254"

        await cluster.client.delete(created)
        await cluster.settle()
        assert neutron.networks == {}
        assert cluster.list(Network) == []
        await fake_clock.advance(5)
        assert reasons(cluster) == ["Provisioned", "Updated", "Deleted"]
    cluster.assert_rbac_minimal(operator)


async def test_the_finalizer_exists_before_the_provider_is_called(cluster: Cluster, neutron: Neutron) -> None:
    """Otherwise a deletion at the wrong moment would leave a network behind forever."""
    finalizers: list[list[str]] = []

    class Witness:
        """Records the finalizers of the object at each request to the provider."""

        def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
            """Record the finalizers, and pass the request on."""
            finalizers.append([*cluster.list(Network)[0].metadata.finalizers])
            return neutron.handle(request, exchange)

    cluster.serve_http(URL, Witness())
    async with cluster.running(operator):
        await cluster.client.create(network())
        await cluster.settle()
    assert finalizers[0] == ["samplecrd.k8s.io/network"]


@pytest.mark.parametrize(
    ("cidr", "gateway", "message"),
    [
        ("192.168.0.0/33", "192.168.0.1", "cidr must be a valid CIDR"),
        ("192.168.0.0/16", "192.168.0", "gateway must be an IP"),
        ("192.168.0.0/16", "10.0.0.1", "gateway must lie inside cidr"),
    ],
)
async def test_an_invalid_network_is_rejected(cluster: Cluster, cidr: str, gateway: str, message: str) -> None:
    """The API server rejects it with a clear message."""
    await cluster.install(Network)
    with pytest.raises(Invalid, match=message):
        await cluster.client.create(network(cidr=cidr, gateway=gateway))


async def test_the_range_of_a_network_cannot_change(cluster: Cluster) -> None:
    """The provider cannot change it."""
    await cluster.install(Network)
    created = await cluster.client.create(network())
    with pytest.raises(Invalid, match="cidr is immutable"):
        await cluster.client.patch(created, {"spec": {"cidr": "192.168.0.0/17"}})


async def test_a_failing_provider_is_retried(cluster: Cluster, fake_clock: FakeClock, neutron: Neutron) -> None:
    """A failure of the provider is reported until a retry succeeds."""
    neutron.errors = 3
    async with cluster.running(operator):
        await cluster.client.create(network())
        await cluster.settle()
        assert state(cluster) == "Synced=False/ProviderError"
        await fake_clock.advance(1)
        assert state(cluster) == "Ready=True/Provisioned Synced=True/UpToDate"
        assert "ProviderError" in reasons(cluster)
    assert len(neutron.networks) == 1


async def test_a_hanging_provider_times_out_and_is_retried(
    cluster: Cluster, fake_clock: FakeClock, neutron: Neutron
) -> None:
    """Without a time limit one request could block the operator forever."""
    neutron.latency = 60.0
    async with cluster.running(operator):
        await cluster.client.create(network())
        await fake_clock.advance(15)
        assert state(cluster) == "Synced=False/ProviderError"
        neutron.latency = 0.1
        await fake_clock.advance(30)
        assert state(cluster) == "Ready=True/Provisioned Synced=True/UpToDate"


async def test_a_rejection_of_the_provider_is_not_retried(
    cluster: Cluster, fake_clock: FakeClock, neutron: Neutron
) -> None:
    """It is reported once, and waits for a change of the spec."""
    async with cluster.running(operator):
        created = await cluster.client.create(network(cidr="10.0.0.0/30", gateway="10.0.0.1"))
        await fake_clock.advance(1800)
        assert state(cluster) == "Ready=False/Rejected"
        assert neutron.calls.count("POST /v2.0/networks") == 1
        assert reasons(cluster) == ["Rejected"]
        await cluster.client.delete(created)
        await cluster.settle()
        assert cluster.list(Network) == []


async def test_a_lost_response_creates_no_second_network(
    cluster: Cluster, fake_clock: FakeClock, neutron: Neutron
) -> None:
    """The provider committed and crashed before it responded: the next attempt finds the network."""
    neutron.crash_after_commit = 1
    async with cluster.running(operator):
        await cluster.client.create(network())
        await fake_clock.advance(10)
        assert list(neutron.networks) == ["net-1"]
        assert state(cluster) == "Ready=True/Provisioned Synced=True/UpToDate"


async def test_drift_is_repaired(cluster: Cluster, fake_clock: FakeClock, neutron: Neutron) -> None:
    """A network that was changed or deleted at the provider is restored."""
    async with cluster.running(operator):
        created = await cluster.client.create(network())
        await cluster.settle()
        neutron.networks["net-1"]["gateway"] = "192.168.9.9"
        await fake_clock.advance(DRIFT_CHECK + 1)
        assert neutron.networks["net-1"]["gateway"] == "192.168.0.1"
        neutron.networks.clear()
        await fake_clock.advance(DRIFT_CHECK + 1)
        assert [one["uid"] for one in neutron.networks.values()] == [created.uid]


async def test_a_deletion_while_the_operator_is_down_is_cleaned_up(cluster: Cluster, neutron: Neutron) -> None:
    """The finalizer keeps the object until the operator runs again."""
    async with cluster.running(operator):
        created = await cluster.client.create(network())
        await cluster.settle()
    await cluster.client.delete(created)
    assert len(cluster.list(Network)) == 1
    async with cluster.running(operator):
        await cluster.settle()
    assert cluster.list(Network) == []
    assert neutron.networks == {}


async def test_a_deletion_waits_for_an_unavailable_provider(
    cluster: Cluster, fake_clock: FakeClock, neutron: Neutron
) -> None:
    """The cleanup is retried until it succeeds."""
    async with cluster.running(operator):
        created = await cluster.client.create(network())
        await cluster.settle()
        neutron.errors = 5
        await cluster.client.delete(created)
        await cluster.settle()
        assert len(cluster.list(Network)) == 1
        await fake_clock.advance(30)
        assert cluster.list(Network) == []
        assert neutron.networks == {}


async def test_a_settled_network_causes_no_writes(cluster: Cluster, fake_clock: FakeClock, neutron: Neutron) -> None:
    """Checks for drift only read, here and at the provider."""
    async with cluster.running(operator):
        await cluster.client.create(network())
        await fake_clock.advance(10)
        cluster.faults.clear()
        neutron.calls.clear()
        await fake_clock.advance(1800)
        assert cluster.faults.writes() == []
        assert {call.split()[0] for call in neutron.calls} == {"GET"}
