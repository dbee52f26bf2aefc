from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apiserver.api import Api

Document = dict[str, Any]
SERVICES = "/api/v1/namespaces/default/services"


def service(name: str, **spec: Any) -> Document:
    """Return a Service with one port."""
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


@given(st.lists(st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]), max_size=12), st.data())
@settings(max_examples=15, deadline=None)
def test_no_two_services_share_an_address_or_a_port(types: list[str], data: st.DataObject) -> None:
    """In any sequence of creates, updates and deletes, an address or port belongs to one Service."""
    import asyncio  # noqa: PLC0415 - Hypothesis calls plain functions

    async def story() -> None:
        api = Api()
        for index, kind in enumerate(types):
            await api.send("POST", SERVICES, service(f"s{index}", type=kind))
            if data.draw(st.booleans()):
                await api.send("DELETE", f"{SERVICES}/s{data.draw(st.integers(0, index))}")
        items = (await api.ask("GET", SERVICES))["items"]
        addresses = [item["spec"]["clusterIP"] for item in items]
        ports = [port["nodePort"] for item in items for port in item["spec"]["ports"] if "nodePort" in port]
        assert len(set(addresses)) == len(addresses)
        assert len(set(ports)) == len(ports)

    asyncio.run(story())


async def test_a_node_port_outside_the_range_is_rejected() -> None:
    """Nodes forward only the ports of the node port range."""
    api = Api()
    wanted = service("a", type="NodePort", ports=[{"port": 80, "nodePort": 80}])
    answer = await api.ask("POST", SERVICES, wanted)
    assert answer["details"]["causes"][0]["message"] == (
        "Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"
    )


async def test_a_port_with_two_protocols_gets_one_node_port_when_the_service_is_created_so() -> None:
    """A Service whose type changes later gets a node port for each, as on a real server."""
    api = Api()
    ports = [{"name": "a", "port": 53, "protocol": "TCP"}, {"name": "b", "port": 53, "protocol": "UDP"}]
    made = await api.ask("POST", SERVICES, service("made", type="NodePort", ports=ports))
    await api.send("POST", SERVICES, service("opened", ports=ports))
    patch = {"spec": {"type": "NodePort"}}
    opened = await api.ask("PATCH", f"{SERVICES}/opened", patch, content_type="application/merge-patch+json")
    assert [len({port["nodePort"] for port in one["spec"]["ports"]}) for one in (made, opened)] == [1, 2]


async def test_a_load_balancer_with_local_traffic_gets_a_health_check_port() -> None:
    """The load balancer asks each node for pods of the Service there; the port is released with the policy."""
    api = Api()
    made = await api.ask("POST", SERVICES, service("a", type="LoadBalancer", externalTrafficPolicy="Local"))
    number = made["spec"]["healthCheckNodePort"]
    assert 30000 <= number < 32768
    patch = {"spec": {"externalTrafficPolicy": "Cluster"}}
    kind = "application/merge-patch+json"
    changed = await api.ask("PATCH", f"{SERVICES}/a", patch, content_type=kind)
    assert "healthCheckNodePort" not in changed["spec"]


async def test_a_full_range_is_an_error_until_a_service_is_deleted() -> None:
    """The range has 238 addresses; the next Service is rejected with the reason."""
    api = Api()
    status = 201
    count = 0
    while status == 201:
        status = (await api.send("POST", SERVICES, service(f"s{count}"))).status
        count += 1
    assert (status, count - 1) == (500, 238)
    await api.send("DELETE", f"{SERVICES}/s0")
    assert (await api.send("POST", SERVICES, service("late"))).status == 201


async def test_an_invalid_service_without_a_name_is_rejected_with_an_empty_name() -> None:
    """Allocation runs before the name is validated, so its errors must not need one."""
    body = {"metadata": {}, "spec": {"ports": [{"port": 80}], "clusterIP": "192.168.1.1"}}
    answer = await Api().ask("POST", SERVICES, body)
    assert (answer["code"], answer["message"].partition(": ")[0]) == (422, 'Service "" is invalid')
