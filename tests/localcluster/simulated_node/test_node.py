from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import Node, Pod
from steersman.localcluster.simulated_node.addresses import Addresses
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import events_of, node_and, template


async def make(cluster: Cluster, name: str = "a", *, restart: str | None = None, **script: str) -> Pod:
    """Create a pod with instructions, and wait a moment."""
    made = template(restart=restart, **script)
    assert made.spec is not None
    assert made.metadata is not None
    pod = await cluster.client.create(Pod(meta(name, annotations=made.metadata.annotations), spec=made.spec))
    await cluster.settle()
    return pod


async def phase(cluster: Cluster, name: str = "a") -> str:
    """Return the phase of a pod."""
    return (await cluster.client.get(Pod, name)).status.phase or ""


async def test_a_node_is_registered_ready_and_alive(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Schedulers and tools read the node itself, and its lease."""
    async with node_and(cluster):
        await fake_clock.advance(60)
        (node,) = cluster.list(Node)
        ready = {one.type: one.status for one in node.status.conditions or ()}
        assert ready["Ready"] == "True"
        assert node.status.capacity
        assert not node.spec.taints
        (lease,) = [one for one in cluster.list(Lease) if one.name == "simulated"]
        assert lease.spec.renew_time is not None
        assert (fake_clock.now() - lease.spec.renew_time).total_seconds() <= 10


async def test_a_pod_runs_with_its_own_address(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Code that waits for a pod waits for these fields."""
    async with node_and(cluster):
        await make(cluster, "a", start_after="2s", ready_after="3s")
        await make(cluster, "b")
        await fake_clock.advance(1)
        assert await phase(cluster) == "Pending"
        await fake_clock.advance(2)
        found = await cluster.client.get(Pod, "a")
        (container,) = found.status.container_statuses or []
        assert (found.status.phase, container.ready) == ("Running", False)
        await fake_clock.advance(3)
        found, other = await cluster.client.get(Pod, "a"), await cluster.client.get(Pod, "b")
        assert {one.type: one.status for one in found.status.conditions or ()}["Ready"] == "True"
        assert found.status.pod_ip
        assert found.status.pod_ip != other.status.pod_ip
        assert found.status.host_ip == "10.0.0.1"


async def test_a_crash_shows_its_restarts(cluster: Cluster, fake_clock: FakeClock) -> None:
    """An operator that detects crash loops can be tested."""
    async with node_and(cluster):
        await make(cluster, fail="CrashLoopBackOff")
        await fake_clock.advance(35)
        (container,) = (await cluster.client.get(Pod, "a")).status.container_statuses or []
        assert container.restart_count == 2
        assert container.state is not None
        assert container.state.waiting is not None
        assert container.state.waiting.reason == "CrashLoopBackOff"
        assert container.last_state is not None
        assert container.last_state.terminated is not None
        assert container.last_state.terminated.exit_code == 1


async def test_tasks_end(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A pod that is not restarted succeeds, or fails with the requested code."""
    async with node_and(cluster):
        await make(cluster, "good", restart="Never")
        await make(cluster, "bad", restart="Never", fail="3")
        await fake_clock.advance(2)
        assert (await phase(cluster, "good"), await phase(cluster, "bad")) == ("Succeeded", "Failed")


async def test_a_deletion_is_finished_after_the_stop_time(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The pod gets its deletion timestamp, stops, and only then is deleted."""
    async with node_and(cluster):
        pod = await make(cluster, stop_after="5s")
        await cluster.client.delete(pod)
        await fake_clock.advance(4)
        assert (await cluster.client.get(Pod, "a")).is_deleting
        await fake_clock.advance(2)
        assert cluster.list(Pod) == []


async def test_a_restarted_node_continues_its_pods(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Restarting the tool must not restart the pods: their state follows from the time, not from memory."""
    async with node_and(cluster):
        await make(cluster, run_for="60s", ready_after="20s")
        await fake_clock.advance(5)
        before = await cluster.client.get(Pod, "a")
    await fake_clock.advance(20)
    async with node_and(cluster):
        await fake_clock.advance(1)
        after = await cluster.client.get(Pod, "a")
        assert after.status.start_time == before.status.start_time
        (container,) = after.status.container_statuses or []
        assert (container.ready, container.restart_count) == (True, 0)


async def test_invalid_instructions_are_reported(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The pod does not run, and its status says why."""
    async with node_and(cluster):
        await make(cluster, ready_after="soon")
        await fake_clock.advance(60)
        assert await phase(cluster) == "Pending"
        text = "simulated.steersman.dev/ready-after: not a duration: 'soon' (write for example '1h30m' or '90s')"
        assert f"InvalidSimulation: {text}" in events_of(cluster, "Pod")


def test_no_two_pods_have_the_same_address() -> None:
    """Two pods with one address would be one endpoint."""
    addresses = Addresses()
    uid, twin = "12345678-0000-0000-0000-000000000000", "12345678-0000-0000-0000-000000000001"
    first = addresses.address_of(uid, None)
    assert addresses.address_of(uid, None) == first
    assert addresses.address_of(twin, None) != first
    addresses.release(uid, first)
    assert addresses.address_of("12345678-0000-0000-0000-000000000002", None) == first
