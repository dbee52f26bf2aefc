import json

import pytest

from steersman.apiserver.local import local_server
from steersman.apiserver.server import ApiServer
from tests.apiserver.api import ADMIN, BOATS, Api, boat


async def test_a_missing_or_wrong_token_is_rejected() -> None:
    """A wrong token is an error; without a token only the health endpoints are readable."""
    api = Api({"secret": ADMIN})
    assert (await api.send("GET", "/api/v1/pods", authorization="Bearer wrong")).status == 401
    assert (await api.send("GET", "/healthz", authorization="Bearer wrong")).status == 401
    anonymous = await api.ask("GET", "/api/v1/namespaces/default/pods")
    assert anonymous["message"] == (
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" '
        'in the namespace "default"'
    )
    assert (await api.send("GET", "/healthz")).status == 200
    assert (await api.send("GET", "/api/v1/pods", authorization="Bearer secret")).status == 200


async def test_generated_names_are_never_used_twice() -> None:
    """Equal seeds give equal names, which makes failures repeatable."""
    names = []
    for _ in range(2):
        api = Api()
        await api.define()
        body = {**boat(""), "metadata": {"generateName": "b-"}}
        names.append([(await api.ask("POST", BOATS, body))["metadata"]["name"] for _ in range(5)])
    assert names[0] == names[1]
    assert len(set(names[0])) == 5
    assert all(len(name) == len("b-12345") for name in names[0])


async def test_an_object_with_a_finalizer_waits_for_it() -> None:
    """Delete sets the same deletion timestamp each time; removing the last finalizer deletes the object."""
    api = Api()
    await api.define()
    await api.send("POST", BOATS, boat("a", finalizers=["sea.dev/haul"]))
    first = await api.ask("DELETE", f"{BOATS}/a")
    assert first["metadata"]["deletionGracePeriodSeconds"] == 0
    assert await api.ask("DELETE", f"{BOATS}/a") == first
    patch = {"metadata": {"finalizers": None}}
    done = await api.send("PATCH", f"{BOATS}/a", patch, content_type="application/merge-patch+json")
    assert done.status == 200
    assert (await api.send("GET", f"{BOATS}/a")).status == 404


async def test_a_status_write_changes_nothing_else() -> None:
    """Two writers of one object do not interfere."""
    api = Api()
    await api.define()
    made = await api.ask("POST", BOATS, boat("a", sails=2))
    made["spec"]["sails"] = 9
    made["metadata"]["labels"] = {"x": "y"}
    made["status"] = {"afloat": True}
    after = await api.ask("PUT", f"{BOATS}/a/status", made)
    assert after["spec"] == {"sails": 2}
    assert "labels" not in after["metadata"]
    assert after["status"] == {"afloat": True}
    assert after["metadata"]["generation"] == 1


async def test_the_pages_of_a_list_show_one_state() -> None:
    """They must be consistent, whatever is written between them."""
    api = Api()
    await api.define()
    for name in "abcd":
        await api.send("POST", BOATS, boat(name))
    first = await api.ask("GET", f"{BOATS}?limit=2")
    assert first["metadata"]["remainingItemCount"] == 2
    await api.send("DELETE", f"{BOATS}/c")
    await api.send("POST", BOATS, boat("aa"))
    rest = await api.ask("GET", f"{BOATS}?limit=2&continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c", "d"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_both_event_apis_show_the_same_events() -> None:
    """Recorders of one API version are read by watchers of the other."""
    api = Api()
    event = {
        "metadata": {"name": "e"},
        "reason": "R",
        "note": "n",
        "type": "Normal",
        "regarding": {"kind": "Pod", "name": "p"},
        "eventTime": "2030-01-01T00:00:00.000000Z",
        "action": "Test",
        "reportingController": "tests",
        "reportingInstance": "tests-1",
    }
    base = "/apis/events.k8s.io/v1/namespaces/default/events"
    async with api.watching("/api/v1/namespaces/default/events?watch=1") as events:
        assert (await api.send("POST", base, event)).status == 201
        await api.clock.settle()
    (seen,) = events.all
    assert seen["object"]["message"] == "n"
    assert seen["object"]["involvedObject"] == {"kind": "Pod", "name": "p"}
    listed = await api.ask("GET", "/api/v1/events?fieldSelector=involvedObject.name=p")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["e"]


async def test_no_two_services_get_the_same_address() -> None:
    """An address is kept across updates and released by the delete."""
    api = Api()
    base = "/api/v1/namespaces/default/services"
    addresses = set()
    for number in range(30):
        body = {"metadata": {"name": f"s{number}"}, "spec": {"ports": [{"port": 80}]}}
        addresses.add((await api.ask("POST", base, body))["spec"]["clusterIP"])
    assert len(addresses) == 30
    taken = addresses.pop()
    wanted = {"metadata": {"name": "mine"}, "spec": {"clusterIP": taken, "ports": [{"port": 80}]}}
    assert (await api.send("POST", base, wanted)).status == 422


async def test_discovery_is_not_sent_again_until_it_changes() -> None:
    """Kubectl requests it before every command."""
    api = Api()
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    tag = (await api.send("GET", "/apis", accept=accept)).header("etag")
    assert (await api.send("GET", "/apis", accept=accept, if_none_match=tag)).status == 304
    await api.define()
    fresh = await api.send("GET", "/apis", accept=accept, if_none_match=tag)
    assert fresh.status == 200
    assert "sea.dev" in [item["metadata"]["name"] for item in json.loads(fresh.body)["items"]]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "BREW"])
async def test_methods_that_no_resource_supports_are_rejected(method: str) -> None:
    """Recorded: all of them are 405."""
    assert (await Api().send(method, "/api/v1/namespaces/default/configmaps")).status == 405


async def test_the_service_of_the_api_has_endpoints_where_the_server_listens() -> None:
    """Programs that look for the API server by its Service find an address and a port that answer."""
    async with local_server() as server:
        host, _, port = server.access.url.removeprefix("https://").partition(":")
        store = server.api.objects.store
        endpoints = store.get("endpoints", "default", "kubernetes")
        slices = store.get("endpointslices.discovery.k8s.io", "default", "kubernetes")
        assert endpoints is not None
        assert slices is not None
        (subset,) = endpoints.decode()["subsets"]
        assert (subset["addresses"], subset["ports"][0]["port"]) == ([{"ip": host}], int(port))
        assert slices.decode()["endpoints"][0]["addresses"] == [host]
        assert slices.labels == {"kubernetes.io/service-name": "kubernetes"}


async def test_a_cluster_has_a_range_of_service_addresses() -> None:
    """Clients that allocate addresses read it; it contains the address of the API's own Service."""
    ranges = ApiServer().objects.store.get("servicecidrs.networking.k8s.io", "", "kubernetes")
    assert ranges is not None
    assert ranges.decode()["spec"] == {"cidrs": ["10.0.0.0/24"]}
