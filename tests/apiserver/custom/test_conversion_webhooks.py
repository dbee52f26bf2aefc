import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from steersman.apiserver.background.controllers import ControllerOptions
from steersman.apiserver.server import ApiServer
from steersman.apiserver.webhook_calls.targets import CallFailed, Reply, Target, WebhookOptions
from steersman.randomness import Randomness
from steersman.transport.in_memory import InMemoryTransport
from tests.apiserver.api import DEFINITIONS, Api, definition

Document = dict[str, Any]
V1 = "/apis/sea.dev/v1/namespaces/default/boats"
V2 = "/apis/sea.dev/v2/namespaces/default/boats"


def _boat(version: str, name: str, spec: Document) -> Document:
    return {"apiVersion": f"sea.dev/{version}", "kind": "Boat", "metadata": {"name": name}, "spec": spec}


def _converted(obj: Document, version: str) -> Document:
    spec = dict(obj["spec"])
    if version == "sea.dev/v2" and "sails" in spec:
        spec["rig"] = f"{spec.pop('sails')} sails"
    elif version == "sea.dev/v1" and "rig" in spec:
        spec["sails"] = int(spec.pop("rig").split()[0])
    return {**obj, "apiVersion": version, "spec": spec}


class ConvertedApi(Api):
    """Boats in two versions and a webhook that converts between them."""

    def __init__(self, *, controllers: bool = False) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.is_down = False
        self.server = ApiServer(
            clock=self.clock,
            randomness=Randomness(5),
            webhooks=WebhookOptions(caller=self._call),
            controllers=ControllerOptions() if controllers else None,
        )
        self.transport = InMemoryTransport(self.server, clock=self.clock)

    async def _call(self, target: Target, body: bytes, seconds: float) -> Reply:
        del target, seconds
        if self.is_down:
            raise CallFailed("nobody there")
        request = json.loads(body)["request"]
        self.batches.append(len(request["objects"]))
        made = [_converted(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": made}
        review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}
        return Reply(200, json.dumps(review).encode())

    async def start(self) -> None:
        """Create the CRD: v1, the stored version, has a number of sails, v2 a rig."""
        made = definition()
        (first,) = made["spec"]["versions"]
        schema = {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"rig": {"type": "string"}}}},
        }
        first["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["sails"].pop("default")
        second = {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}}
        made["spec"]["versions"].append(second)
        client = {"url": "https://127.0.0.1:9443/convert"}
        webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
        made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
        answer = await self.send("POST", DEFINITIONS, made)
        assert answer.status == 201, answer.body


@asynccontextmanager
async def _boats() -> AsyncIterator[ConvertedApi]:
    api = ConvertedApi()
    await api.start()
    yield api


async def _rest(api: Api) -> None:
    for _ in range(5):
        await api.clock.settle()


async def test_a_list_is_converted_in_one_call() -> None:
    """A thousand objects must not need a thousand calls."""
    async with _boats() as api:
        for place in range(20):
            await api.send("POST", V1, _boat("v1", f"b{place:02}", {"sails": place % 9}))
        listed = await api.ask("GET", V2)
        assert [item["spec"]["rig"] for item in listed["items"]] == [f"{place % 9} sails" for place in range(20)]
        assert api.batches == [20]


async def test_a_watch_shows_converted_objects_in_order() -> None:
    """Informers of one version follow writes made in another."""
    async with _boats() as api:
        await api.send("POST", V1, _boat("v1", "a", {"sails": 1}))
        async with api.watching(f"{V2}?watch=true") as events:
            await _rest(api)
            await api.send("POST", V2, _boat("v2", "b", {"rig": "2 sails"}))
            patch = {"content_type": "application/merge-patch+json"}
            await api.send("PATCH", f"{V1}/a", {"spec": {"sails": 3}}, **patch)
            await api.send("DELETE", f"{V1}/a")
            await _rest(api)
            told = [(event["type"], event["object"]["spec"]) for event in events.all]
        assert told == [
            ("ADDED", {"rig": "1 sails"}),
            ("ADDED", {"rig": "2 sails"}),
            ("MODIFIED", {"rig": "3 sails"}),
            ("DELETED", {"rig": "3 sails"}),
        ]


async def test_a_watch_ends_with_an_error_when_conversion_fails() -> None:
    """A client that received nothing would assume that nothing happened."""
    async with _boats() as api, api.watching(f"{V2}?watch=true") as events:
        api.is_down = True
        await api.send("POST", V1, _boat("v1", "a", {"sails": 1}))
        await _rest(api)
        (event,) = events.all
        assert event["type"] == "ERROR"
        assert "nobody there" in event["object"]["message"]


async def _in_two_stored_versions(api: ConvertedApi, finalizers: list[str], namespace: str = "default") -> None:
    """Store one boat as v1 and one as v2, then remove the webhook."""
    first, second = _boat("v1", "a", {"sails": 1}), _boat("v2", "b", {"rig": "2 sails"})
    first["metadata"]["finalizers"] = finalizers
    await api.send("POST", V1.replace("default", namespace), first)
    crd = await api.ask("GET", f"{DEFINITIONS}/boats.sea.dev")
    for version in crd["spec"]["versions"]:
        version["storage"] = version["name"] == "v2"
    assert (await api.send("PUT", f"{DEFINITIONS}/boats.sea.dev", crd)).status == 200
    assert (await api.send("POST", V2.replace("default", namespace), second)).status == 201
    api.is_down = True


async def test_a_crd_is_deleted_with_objects_that_cannot_be_converted() -> None:
    """It returned 500 and stayed terminating, and so did its namespace: operators are often deleted with their CRDs."""
    async with _boats() as api:
        await _in_two_stored_versions(api, [])
        answer = await api.send("DELETE", f"{DEFINITIONS}/boats.sea.dev")
        assert answer.status == 200, answer.body
        await _rest(api)
        assert (await api.send("GET", f"{DEFINITIONS}/boats.sea.dev")).status == 404


async def test_an_object_that_cannot_be_converted_still_waits_for_its_finalizers() -> None:
    """Deleting must not skip a cleanup because a webhook is unavailable."""
    async with _boats() as api:
        await _in_two_stored_versions(api, ["sea.dev/anchor"])
        assert (await api.send("DELETE", f"{DEFINITIONS}/boats.sea.dev")).status == 200
        await _rest(api)
        crd = await api.ask("GET", f"{DEFINITIONS}/boats.sea.dev")
        assert "deletionTimestamp" in crd["metadata"]
        api.is_down = False
        kept = await api.ask("GET", f"{V2}/a")
        assert kept["metadata"]["finalizers"] == ["sea.dev/anchor"]
        assert kept["spec"] == {"rig": "1 sails"}
        patch = {"content_type": "application/merge-patch+json"}
        await api.send("PATCH", f"{V2}/a", {"metadata": {"finalizers": None}}, **patch)
        await _rest(api)
        assert (await api.send("GET", f"{DEFINITIONS}/boats.sea.dev")).status == 404


async def test_a_namespace_is_deleted_with_objects_that_cannot_be_converted() -> None:
    """The server itself deletes its content and cannot wait for a webhook."""
    api = ConvertedApi(controllers=True)
    await api.start()
    port = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "port"}}
    assert (await api.send("POST", "/api/v1/namespaces", port)).status == 201
    await _in_two_stored_versions(api, [], "port")
    assert (await api.send("DELETE", "/api/v1/namespaces/port")).status == 200
    for _ in range(20):
        await _rest(api)
    assert [record.name for record in api.server.objects.records_of("boats.sea.dev")] == []
    assert (await api.send("GET", "/api/v1/namespaces/port")).status == 404


async def test_nothing_is_written_while_conversion_fails() -> None:
    """A write in another version than the stored one succeeds completely or not at all."""
    async with _boats() as api:
        api.is_down = True
        answer = await api.send("POST", V2, _boat("v2", "a", {"rig": "2 sails"}))
        assert answer.status == 500
        api.is_down = False
        assert (await api.send("GET", f"{V1}/a")).status == 404


async def test_objects_stored_in_an_older_version_are_converted_when_read() -> None:
    """The storage version may change while old objects still exist."""
    async with _boats() as api:
        await api.send("POST", V1, _boat("v1", "a", {"sails": 4}))
        made = await api.ask("GET", f"{DEFINITIONS}/boats.sea.dev")
        for version in made["spec"]["versions"]:
            version["storage"] = version["name"] == "v2"
        answer = await api.send("PUT", f"{DEFINITIONS}/boats.sea.dev", made)
        assert answer.status == 200, answer.body
        assert (await api.ask("GET", f"{V2}/a"))["spec"] == {"rig": "4 sails"}
        assert (await api.ask("GET", f"{V1}/a"))["spec"] == {"sails": 4}


async def test_a_collection_is_deleted_as_a_whole() -> None:
    """Waiting for conversions in the middle must not lose the objects before."""
    async with _boats() as api:
        async with asyncio.TaskGroup() as tasks:
            for name in "abc":
                tasks.create_task(api.send("POST", V1, _boat("v1", name, {"sails": 1})))
        gone = await api.ask("DELETE", V2)
        assert [item["metadata"]["name"] for item in gone["items"]] == ["a", "b", "c"]
        assert (await api.ask("GET", V1))["items"] == []
