"""Waiting for objects and kinds, with a clock that tests advance."""

import asyncio
from typing import Any

import pytest

from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.client.wait import has_condition
from steersman.errors import DeclarationError, WaitTimeout
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.codec import decode, encode_json
from steersman.objects.resource import Unstructured
from steersman.testing.fake_clock import FakeClock
from tests.client.conftest import ScriptedTransport, failure
from tests.support.watch_frames import bookmark, frame, item


def line(document: dict[str, Any]) -> bytes:
    """Return a frame as the server sends it."""
    return encode_json(document) + b"\n"


def with_data(version: int, **data: str) -> dict[str, Any]:
    """Return a ConfigMap with data."""
    return {**item("a", version), "data": data}


async def test_wait_for_returns_the_object_that_meets_the_condition(
    client: Client, transport: ScriptedTransport
) -> None:
    """It need not exist when the wait begins."""
    transport.add_stream(
        bookmark(1, end=True), frame("ADDED", with_data(2, x="0")), frame("MODIFIED", with_data(3, x="1"))
    )
    obj = await client.wait_for(Ref(ConfigMap, "a"), lambda it: it.data["x"] == "1", timeout=5)
    assert obj.resource_version == "3"
    assert "fieldSelector=metadata.name%3Da" in transport.lines[0]
    assert transport.open_streams == 0


async def test_wait_that_times_out_reports_what_it_saw(
    client: Client, transport: ScriptedTransport, clock: FakeClock
) -> None:
    """The message must say whether the object existed."""
    transport.add_stream(frame("ADDED", with_data(2)), bookmark(3, end=True))
    async with asyncio.TaskGroup() as tasks:
        wait = tasks.create_task(_fails(client, WaitTimeout))
        await clock.advance(6)
        assert await wait == "waited 5 s for ConfigMap a to meet is_ready: version 2 did not"
    assert transport.open_streams == 0


async def _fails(client: Client, error: type[Exception]) -> str:
    def is_ready(obj: ConfigMap) -> bool:
        return "ready" in obj.data

    with pytest.raises(error) as caught:
        await client.wait_for(Ref(ConfigMap, "a"), is_ready, timeout=5)
    return str(caught.value)


async def test_wait_deleted_returns_at_once_for_a_missing_object(client: Client, transport: ScriptedTransport) -> None:
    """No event will ever arrive."""
    transport.add_stream(bookmark(1, end=True))
    await client.wait_deleted(Ref(ConfigMap, "a"), timeout=5)


async def test_wait_deleted_waits_for_the_event(client: Client, transport: ScriptedTransport, clock: FakeClock) -> None:
    """Objects with finalizers take time: neither the list nor a change ends the wait."""
    stream = transport.add_stream(frame("ADDED", item("a", 1)), bookmark(2, end=True))
    async with asyncio.TaskGroup() as tasks:
        wait = tasks.create_task(client.wait_deleted(Ref(ConfigMap, "a"), timeout=5))
        await clock.advance(1)
        stream.feed(line(frame("MODIFIED", item("a", 3))))
        await clock.advance(1)
        assert not wait.done()
        stream.feed(line(frame("DELETED", item("a", 4))))
        await clock.settle()
        assert wait.done()
    assert transport.open_streams == 0


async def test_recreated_object_counts_as_deleted(client: Client, transport: ScriptedTransport) -> None:
    """The new object of the same name is another object."""
    transport.add_stream(frame("ADDED", item("a", 5, "new")), bookmark(6, end=True))
    await client.wait_deleted(decode(ConfigMap, encode_json(item("a", 1, "old"))), timeout=5)


@pytest.mark.parametrize(("status", "holds"), [("True", True), ("False", False)])
def test_condition_is_found_in_any_status(status: str, holds: bool) -> None:
    """Most waits are for a condition."""
    content = {"apiVersion": "v1", "kind": "X", "status": {"conditions": [{"type": "Ready", "status": status}]}}
    assert has_condition("Ready")(Unstructured(content)) is holds
    assert not has_condition("Ready")(Unstructured({"apiVersion": "v1", "kind": "X"}))


def definition(version: int, **conditions: str) -> dict[str, Any]:
    """Return a CRD with two versions, one of them served."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.demo.dev", "resourceVersion": str(version)},
        "spec": {
            "group": "demo.dev",
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True}, {"name": "v0", "served": False}],
        },
        "status": {
            "conditions": [
                {"type": type_, "status": status, "message": "taken"} for type_, status in conditions.items()
            ]
        },
    }


async def test_kind_is_established_only_when_its_objects_can_be_listed(
    client: Client, transport: ScriptedTransport, clock: FakeClock
) -> None:
    """Servers report Established some milliseconds before they serve the kind."""
    transport.answers += [
        failure(404, "NotFound"),
        failure(429, "TooManyRequests"),
        {"kind": "WidgetList", "items": []},
    ]
    transport.add_stream(
        frame("ADDED", definition(1)),
        bookmark(2, end=True),
        frame("MODIFIED", definition(3, NamesAccepted="True", Established="False")),
        frame("MODIFIED", definition(4, NamesAccepted="True", Established="True")),
    )
    async with asyncio.TaskGroup() as tasks:
        wait = tasks.create_task(client.wait_established("widgets.demo.dev", timeout=5))
        await clock.advance(1)
        assert wait.done()
    assert transport.lines[1:] == ["GET /apis/demo.dev/v1/widgets?limit=1"] * 3


async def test_kind_whose_names_are_in_use_fails_at_once(client: Client, transport: ScriptedTransport) -> None:
    """It will never be established: waiting would only hide the reason."""
    transport.add_stream(frame("ADDED", definition(1, NamesAccepted="False")), bookmark(2, end=True))
    with pytest.raises(DeclarationError, match="does not accept its names: taken"):
        await client.wait_established("widgets.demo.dev", timeout=5)
