"""Discovery: kinds by any name that users know, from either form of the server's answer."""

import json
from typing import Any

import pytest

from steersman.client.discovery import Discovery
from steersman.errors import NotFound
from steersman.objects.identity import GroupVersionKind, GroupVersionResource
from steersman.protocol.http import Request, Response
from steersman.testing.fake_clock import FakeClock
from tests.client.conftest import Answer, ScriptedTransport, failure

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def _resource(
    plural: str, kind: str, *short: str, scope: str = "Namespaced", sub: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "resource": plural,
        "responseKind": {"kind": kind, "group": "", "version": ""},
        "scope": scope,
        "singularResource": kind.lower(),
        "shortNames": [*short],
        "subresources": [{"subresource": name} for name in sub],
        "verbs": ["get"],
    }


def _group(name: str, **versions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "versions": [{"version": version, "resources": resources} for version, resources in versions.items()],
    }


AGGREGATED: dict[str, Answer] = {
    "/api": {
        "kind": "APIGroupDiscoveryList",
        "items": [
            _group("", v1=[_resource("events", "Event", "ev"), _resource("nodes", "Node", "no", scope="Cluster")])
        ],
    },
    "/apis": {
        "kind": "APIGroupDiscoveryList",
        "items": [
            _group("apps", v1=[_resource("deployments", "Deployment", "deploy", sub=("status", "scale"))]),
            _group("events.k8s.io", v1=[_resource("events", "Event", "ev")]),
            _group("demo.dev", v2=[_resource("widgets", "Widget")], v1=[_resource("widgets", "Widget")]),
        ],
    },
}

LEGACY: dict[str, Answer] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": "demo.dev",
                "versions": [{"groupVersion": "demo.dev/v1"}, {"groupVersion": "demo.dev/v2"}],
                "preferredVersion": {"groupVersion": "demo.dev/v2"},
            },
            {"name": "down.dev", "versions": [{"groupVersion": "down.dev/v1"}]},
        ],
    },
    "/api/v1": {
        "kind": "APIResourceList",
        "resources": [
            {"name": "pods", "kind": "Pod", "singularName": "pod", "namespaced": True, "shortNames": ["po"]},
            {"name": "pods/log", "kind": "Pod", "namespaced": True},
            {"name": "nodes", "kind": "Node", "singularName": "node", "namespaced": False},
        ],
    },
    "/apis/demo.dev/v1": {"resources": [{"name": "widgets", "kind": "Widget", "namespaced": True}]},
    "/apis/demo.dev/v2": {"resources": [{"name": "widgets", "kind": "Widget", "namespaced": True}]},
    "/apis/down.dev/v1": failure(503, "ServiceUnavailable"),
}


def serving(transport: ScriptedTransport, answers: dict[str, Answer]) -> None:
    """Script the transport to answer by path."""

    def answer(request: Request) -> Answer:
        return answers[request.target]

    transport.otherwise = answer


@pytest.mark.parametrize(
    "name",
    ["deploy", "Deployment", "deployment", "deployments", "deployments.apps", "deployments.v1.apps", "deploy.apps"],
)
async def test_any_usual_name_finds_the_kind(transport: ScriptedTransport, clock: FakeClock, name: str) -> None:
    """Users write the names that kubectl accepts."""
    serving(transport, AGGREGATED)
    found = await Discovery(transport, clock=clock).find(name)
    assert (found.gvk, found.plural, found.subresources) == (DEPLOYMENT, "deployments", {"status", "scale"})


async def test_groups_and_versions_are_preferred_in_the_order_of_the_server(
    transport: ScriptedTransport, clock: FakeClock
) -> None:
    """If names clash the server's order decides, unless the name contains a group or version."""
    serving(transport, AGGREGATED)
    discovery = Discovery(transport, clock=clock)
    assert (await discovery.find("events")).gvk.group == ""
    assert (await discovery.find("events.events.k8s.io")).gvk.group == "events.k8s.io"
    assert (await discovery.find("widgets")).gvk.version == "v2"
    assert (await discovery.find("widgets.v1.demo.dev")).gvk.version == "v1"
    assert not (await discovery.find("no")).namespaced


async def test_an_exact_resource_is_not_guessed(transport: ScriptedTransport, clock: FakeClock) -> None:
    """A reference in data, unlike one typed by a user, means one resource or none."""
    serving(transport, AGGREGATED)
    discovery = Discovery(transport, clock=clock)
    assert (await discovery.served_at(GroupVersionResource("apps", "v1", "deployments"))).gvk == DEPLOYMENT
    for wrong in (("", "v1", "deployments"), ("apps", "v1", "deployment")):
        with pytest.raises(NotFound):
            await discovery.served_at(GroupVersionResource(*wrong))


async def test_two_requests_are_enough_for_any_number_of_lookups(
    transport: ScriptedTransport, clock: FakeClock
) -> None:
    """Discovery is slow on large clusters; its answer hardly ever changes."""
    serving(transport, AGGREGATED)
    discovery = Discovery(transport, clock=clock)
    for _ in range(5):
        await discovery.resource(DEPLOYMENT)
    assert transport.lines == ["GET /api", "GET /apis"]
    assert "as=APIGroupDiscoveryList" in transport.asked[0].headers["accept"]


async def test_server_without_aggregated_discovery_is_read_version_by_version(
    transport: ScriptedTransport, clock: FakeClock
) -> None:
    """An API that is unavailable must not hide the others."""
    serving(transport, LEGACY)
    discovery = Discovery(transport, clock=clock)
    pods = await discovery.find("po")
    assert (pods.gvk, pods.subresources, pods.namespaced) == (GroupVersionKind("", "v1", "Pod"), {"log"}, True)
    assert (await discovery.find("widgets")).gvk.version == "v2"
    assert [resource.plural for resource in await discovery.resources()] == ["pods", "nodes", "widgets", "widgets"]


async def test_server_that_rejects_the_aggregated_form_is_read_version_by_version(
    transport: ScriptedTransport, clock: FakeClock
) -> None:
    """Some answer 406 instead of the other form."""

    def answer(request: Request) -> Answer:
        if "APIGroupDiscoveryList" in request.headers["accept"]:
            return Response(
                406, [("content-type", "application/json")], json.dumps(failure(406, "NotAcceptable")).encode()
            )
        return LEGACY[request.target]

    transport.otherwise = answer
    assert (await Discovery(transport, clock=clock).find("pod")).plural == "pods"


async def test_kind_that_is_missing_is_looked_for_again(transport: ScriptedTransport, clock: FakeClock) -> None:
    """Its CRD may have been installed a moment ago."""
    served: dict[str, Answer] = {"/api": AGGREGATED["/api"], "/apis": {"kind": "APIGroupDiscoveryList", "items": []}}
    serving(transport, served)
    discovery = Discovery(transport, clock=clock)
    with pytest.raises(NotFound, match="its CustomResourceDefinition is not installed"):
        await discovery.resource(DEPLOYMENT)
    served["/apis"] = AGGREGATED["/apis"]
    await clock.advance(2)
    assert (await discovery.resource(DEPLOYMENT)).plural == "deployments"


async def test_missing_kinds_do_not_flood_the_server(transport: ScriptedTransport, clock: FakeClock) -> None:
    """A loop over a missing kind must not become a loop over discovery."""
    serving(transport, AGGREGATED)
    discovery = Discovery(transport, clock=clock)
    for _ in range(20):
        with pytest.raises(NotFound):
            await discovery.find("nonsense")
    assert len(transport.asked) == 2
