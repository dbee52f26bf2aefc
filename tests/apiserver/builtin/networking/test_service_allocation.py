from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apiserver.api import Api

Document = dict[str, Any]
SERVICES = "/api/v1/namespaces/default/services"


def service(name: str, **spec: Any) -> Document:
    """Give a Service with one port."""
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


@given(st.lists(st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]), max_size=12), st.data())
@settings(max_examples=15, deadline=None)
def test_no_two_services_share_an_address_or_a_port(types: list[str], data: st.DataObject) -> None:
    """Whatever is created, changed and deleted: what one Service has, no other gets."""
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


async def test_a_node_port_outside_the_range_is_refused() -> None:
    """Nodes forward only the ports that were set apart for this."""
    api = Api()
    wanted = service("a", type="NodePort", ports=[{"port": 80, "nodePort": 80}])
    answer = await api.ask("POST", SERVICES, wanted)
    assert answer["details"]["causes"][0]["message"] == (
        "Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"
    )


async def test_a_port_over_two_protocols_is_one_on_the_nodes_if_it_is_so_from_the_beginning() -> None:
    """A Service that is opened later gets a number for each, as on a real server."""
    api = Api()
    ports = [{"name": "a", "port": 53, "protocol": "TCP"}, {"name": "b", "port": 53, "protocol": "UDP"}]
    made = await api.ask("POST", SERVICES, service("made", type="NodePort", ports=ports))
    await api.send("POST", SERVICES, service("opened", ports=ports))
    patch = {"spec": {"type": "NodePort"}}
    opened = await api.ask("PATCH", f"{SERVICES}/opened", patch, content_type="application/merge-patch+json")
    assert [len({port["nodePort"] for port in one["spec"]["ports"]}) for one in (made, opened)] == [1, 2]


async def test_a_balancer_that_keeps_addresses_gets_a_port_for_health_checks() -> None:
    """The balancer asks each node on it whether a pod of the Service is there; it goes with the policy."""
    api = Api()
    made = await api.ask("POST", SERVICES, service("a", type="LoadBalancer", externalTrafficPolicy="Local"))
    number = made["spec"]["healthCheckNodePort"]
    assert 30000 <= number < 32768
    patch = {"spec": {"externalTrafficPolicy": "Cluster"}}
    kind = "application/merge-patch+json"
    changed = await api.ask("PATCH", f"{SERVICES}/a", patch, content_type=kind)
    assert "healthCheckNodePort" not in changed["spec"]


async def test_a_full_range_is_told_and_a_delete_makes_room() -> None:
    """A cluster of a test has 238 addresses to give; the next Service hears why it gets none."""
    api = Api()
    status = 201
    count = 0
    while status == 201:
        status = (await api.send("POST", SERVICES, service(f"s{count}"))).status
        count += 1
    assert (status, count - 1) == (500, 238)
    await api.send("DELETE", f"{SERVICES}/s0")
    assert (await api.send("POST", SERVICES, service("late"))).status == 201
