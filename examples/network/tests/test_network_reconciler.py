"""What the operator does for a Network, on an API server of each test's own, with a provider that can fail."""

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
    """Give the provider that the operator calls."""
    neutron = Neutron(clock=cluster.clock)
    cluster.serve_http(URL, neutron)
    return neutron


def network(name: str = "a", cidr: str = "192.168.0.0/16", gateway: str = "192.168.0.1") -> Network:
    """Give a network."""
    return Network(meta(name), NetworkSpec(cidr=cidr, gateway=gateway))


def state(cluster: Cluster) -> str:
    """Give the conditions of the only network, in short."""
    [found] = cluster.list(Network)
    return " ".join(sorted(f"{one.type}={one.status}/{one.reason}" for one in found.status.conditions))


def reasons(cluster: Cluster) -> list[str]:
    """Give the reasons of all events, oldest first."""
    return [event.reason or "" for event in sorted(cluster.list(Event), key=lambda one: one.resource_version)]


async def test_a_network_is_provided_changed_and_taken_away(
    cluster: Cluster, fake_clock: FakeClock, neutron: Neutron
) -> None:
    """The life of a network, as a user sees it here and at the provider."""
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


async def test_the_finalizer_is_there_before_the_provider_is_called(cluster: Cluster, neutron: Neutron) -> None:
    """Otherwise a deletion at the wrong moment would leave a network behind for ever."""
    finalizers: list[list[str]] = []

    class Witness:
        """Stands before the provider and writes down what the object has when a call comes."""

        def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
            """Look, and hand on."""
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
async def test_nonsense_never_reaches_the_operator(cluster: Cluster, cidr: str, gateway: str, message: str) -> None:
    """The schema says no, in words that a user understands."""
    await cluster.install(Network)
    with pytest.raises(Invalid, match=message):
        await cluster.client.create(network(cidr=cidr, gateway=gateway))


async def test_the_range_of_a_network_cannot_change(cluster: Cluster) -> None:
    """The provider cannot change it either."""
    await cluster.install(Network)
    created = await cluster.client.create(network())
    with pytest.raises(Invalid, match="cidr is immutable"):
        await cluster.client.patch(created, {"spec": {"cidr": "192.168.0.0/17"}})


async def test_a_provider_that_fails_is_tried_again(cluster: Cluster, fake_clock: FakeClock, neutron: Neutron) -> None:
    """A failure of the provider is told, and passes by itself."""
    neutron.errors = 3
    async with cluster.running(operator):
        await cluster.client.create(network())
        await cluster.settle()
        assert state(cluster) == "Synced=False/ProviderError"
        await fake_clock.advance(1)
        assert state(cluster) == "Ready=True/Provisioned Synced=True/UpToDate"
        assert "ProviderError" in reasons(cluster)
    assert len(neutron.networks) == 1


async def test_a_provider_that_hangs_is_given_up_and_tried_again(
    cluster: Cluster, fake_clock: FakeClock, neutron: Neutron
) -> None:
    """Without a time limit one request could stop an operator for ever."""
    neutron.latency = 60.0
    async with cluster.running(operator):
        await cluster.client.create(network())
        await fake_clock.advance(15)
        assert state(cluster) == "Synced=False/ProviderError"
        neutron.latency = 0.1
        await fake_clock.advance(30)
        assert state(cluster) == "Ready=True/Provisioned Synced=True/UpToDate"


async def test_what_the_provider_will_never_have_is_not_asked_again(
    cluster: Cluster, fake_clock: FakeClock, neutron: Neutron
) -> None:
    """A refusal is told once, and waits for the user."""
    async with cluster.running(operator):
        created = await cluster.client.create(network(cidr="10.0.0.0/30", gateway="10.0.0.1"))
        await fake_clock.advance(1800)
        assert state(cluster) == "Ready=False/Rejected"
        assert neutron.calls.count("POST /v2.0/networks") == 1
        assert reasons(cluster) == ["Rejected"]
        await cluster.client.delete(created)
        await cluster.settle()
        assert cluster.list(Network) == []


async def test_a_lost_answer_makes_no_second_network(cluster: Cluster, fake_clock: FakeClock, neutron: Neutron) -> None:
    """The provider committed and crashed before it answered: the next attempt finds what is there."""
    neutron.crash_after_commit = 1
    async with cluster.running(operator):
        await cluster.client.create(network())
        await fake_clock.advance(10)
        assert list(neutron.networks) == ["net-1"]
        assert state(cluster) == "Ready=True/Provisioned Synced=True/UpToDate"


async def test_drift_is_repaired(cluster: Cluster, fake_clock: FakeClock, neutron: Neutron) -> None:
    """Whoever changes or removes the network at the provider gets it back."""
    async with cluster.running(operator):
        created = await cluster.client.create(network())
        await cluster.settle()
        neutron.networks["net-1"]["gateway"] = "192.168.9.9"
        await fake_clock.advance(DRIFT_CHECK + 1)
        assert neutron.networks["net-1"]["gateway"] == "192.168.0.1"
        neutron.networks.clear()
        await fake_clock.advance(DRIFT_CHECK + 1)
        assert [one["uid"] for one in neutron.networks.values()] == [created.uid]


async def test_a_deletion_while_the_operator_is_away_is_made_good(cluster: Cluster, neutron: Neutron) -> None:
    """That is what the finalizer is for."""
    async with cluster.running(operator):
        created = await cluster.client.create(network())
        await cluster.settle()
    await cluster.client.delete(created)
    assert len(cluster.list(Network)) == 1
    async with cluster.running(operator):
        await cluster.settle()
    assert cluster.list(Network) == []
    assert neutron.networks == {}


async def test_a_provider_that_is_away_holds_up_the_deletion(
    cluster: Cluster, fake_clock: FakeClock, neutron: Neutron
) -> None:
    """Nothing is forgotten because it could not be done at once."""
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


async def test_at_rest_nothing_is_written(cluster: Cluster, fake_clock: FakeClock, neutron: Neutron) -> None:
    """Looking for drift is reading, here and at the provider."""
    async with cluster.running(operator):
        await cluster.client.create(network())
        await fake_clock.advance(10)
        cluster.faults.clear()
        neutron.calls.clear()
        await fake_clock.advance(1800)
        assert cluster.faults.writes() == []
        assert {call.split()[0] for call in neutron.calls} == {"GET"}
