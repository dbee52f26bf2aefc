from typing import Any

from steersman.kinds.core_v1 import Container, ContainerPort, Endpoints, Pod, PodSpec, Service, ServicePort, ServiceSpec
from steersman.kinds.discovery_v1 import EndpointSlice
from steersman.localcluster.simulated_node.script import PREFIX
from steersman.localcluster.workloads.services import reconciler as services
from steersman.localcluster.workloads.services.endpoints import groups, slices_of
from steersman.objects.codec import to_json
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import node_and


def pod(name: str, *, port: int = 8080, **script: str) -> Pod:
    """Return a pod with a named port."""
    annotations = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in script.items()}
    container = Container(name="main", image="one", ports=[ContainerPort(container_port=port, name="http")])
    return Pod(meta(name, labels={"app": "web"}, annotations=annotations), spec=PodSpec(containers=[container]))


def service(name: str = "web", **spec: Any) -> Service:
    """Return a Service for these pods."""
    ports = [
        ServicePort(name="http", port=80, target_port="http"),
        ServicePort(name="admin", port=81, target_port=9000),
    ]
    defaults: dict[str, Any] = {"selector": {"app": "web"}, "ports": ports}
    return Service(meta(name, labels={"tier": "front"}), spec=ServiceSpec(**{**defaults, **spec}))


def slices(cluster: Cluster, name: str = "web") -> list[EndpointSlice]:
    """Return the slices of a Service."""
    return cluster.list(EndpointSlice, selector=f"kubernetes.io/service-name={name}")


def states(cluster: Cluster, name: str = "web") -> dict[str, tuple[bool | None, ...]]:
    """Return whether each pod is ready, serving and terminating."""
    return {
        one.target_ref.name or "": (one.conditions.ready, one.conditions.serving, one.conditions.terminating)
        for part in slices(cluster, name)
        for one in part.endpoints or ()
        if one.target_ref is not None and one.conditions is not None
    }


async def test_a_slice_shows_which_pods_are_ready_serving_and_terminating(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """Load balancers send new requests to ready pods, and let the others finish theirs."""
    async with node_and(cluster, services.operator):
        await cluster.client.create(service())
        await cluster.client.create(pod("ready"))
        await cluster.client.create(pod("slow", ready_after="30s"))
        leaving = await cluster.client.create(pod("leaving", stop_after="10s"))
        await fake_clock.advance(1)
        await cluster.client.delete(leaving)
        await fake_clock.advance(1)
        assert states(cluster) == {
            "ready": (True, True, False),
            "slow": (False, False, False),
            "leaving": (False, True, True),
        }
        await fake_clock.advance(40)
        assert states(cluster) == {"ready": (True, True, False), "slow": (True, True, False)}


async def test_a_slice_is_written_as_by_kubernetes(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Proxies and meshes read these labels and fields."""
    async with node_and(cluster, services.operator):
        owner = await cluster.client.create(service())
        made = await cluster.client.create(pod("a"))
        await fake_clock.advance(0)
        (found,) = slices(cluster)
        assert found.labels == {
            "tier": "front",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }
        assert found.controller is not None
        assert found.controller.uid == owner.uid
        document = to_json(found)
        assert document["ports"] == [
            {"name": "admin", "port": 9000, "protocol": "TCP"},
            {"name": "http", "port": 8080, "protocol": "TCP"},
        ]
        address = (await cluster.client.get(Pod, "a")).status.pod_ip
        reference = {"kind": "Pod", "name": "a", "namespace": "default", "uid": made.uid}
        assert document["endpoints"] == [
            {
                "addresses": [address],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "nodeName": "simulated",
                "targetRef": reference,
            }
        ]
        (old,) = [one for one in cluster.list(Endpoints) if one.name == "web"]
        assert to_json(old)["subsets"] == [
            {
                "addresses": [{"ip": address, "nodeName": "simulated", "targetRef": reference}],
                "ports": [
                    {"name": "http", "port": 8080, "protocol": "TCP"},
                    {"name": "admin", "port": 9000, "protocol": "TCP"},
                ],
            }
        ]


async def test_named_ports_may_differ_between_pods(cluster: Cluster, fake_clock: FakeClock) -> None:
    """While port numbers change the name stays: each pod is reached where it listens."""
    async with node_and(cluster, services.operator):
        await cluster.client.create(service(ports=[ServicePort(name="http", port=80, target_port="http")]))
        await cluster.client.create(pod("a", port=8080))
        await cluster.client.create(pod("b", port=9090))
        await fake_clock.advance(0)
        found = {one.ports[0].port: one for one in slices(cluster) if one.ports}
        assert sorted(found, key=str) == [8080, 9090]
        assert [one.target_ref.name for one in found[9090].endpoints or () if one.target_ref] == ["b"]
        await cluster.client.delete(await cluster.client.get(Pod, "b"))
        await fake_clock.advance(0)
        assert len(slices(cluster)) == 1


async def test_pods_that_are_not_ready_are_published_on_request(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Members of a cluster must find each other before any of them is ready."""
    async with node_and(cluster, services.operator):
        spec = {"cluster_ip": "None", "publish_not_ready_addresses": True, "ports": None}
        await cluster.client.create(service("peers", **spec))
        await cluster.client.create(pod("a", never_ready="true"))
        await fake_clock.advance(0)
        assert states(cluster, "peers") == {"a": (True, False, False)}
        (found,) = slices(cluster, "peers")
        assert found.labels["service.kubernetes.io/headless"] == ""


async def test_a_service_without_pods_has_an_empty_slice(cluster: Cluster, fake_clock: FakeClock) -> None:
    """An empty slice differs from a Service that was not processed yet."""
    async with node_and(cluster, services.operator):
        await cluster.client.create(service())
        await cluster.client.create(service("manual", selector=None))
        await fake_clock.advance(0)
        assert [one.endpoints or [] for one in slices(cluster)] == [[]]
        assert slices(cluster, "manual") == []


def test_very_many_pods_are_split_into_slices() -> None:
    """A change of one pod must not send thousands of addresses to every node."""
    pods = []
    for number in range(250):
        one = pod(f"pod-{number:03d}")
        one.status.pod_ip = f"10.244.0.{number}"
        pods.append(one)
    made = slices_of(service(), groups(service(), pods))
    assert [len(one.endpoints or ()) for one in made] == [100, 100, 50]
    assert len({one.name for one in made}) == 3


def test_a_pod_of_a_process_node_is_not_an_endpoint() -> None:
    """API servers reject loopback addresses, and a Service whose slice is always rejected would have none."""
    near, far = pod("near"), pod("far")
    near.status.pod_ip, far.status.pod_ip = "127.9.0.1", "10.244.0.1"
    (found,) = groups(service(), [near, far])
    assert [one.name for one in found.pods] == ["far"]
