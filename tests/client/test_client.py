"""The verbs of the client: the requests they send and how they handle the answers."""

import asyncio
import logging
from typing import Any

import pytest

from steersman.client.client import Client
from steersman.client.interfaces import ALL_NAMESPACES, Ref
from steersman.errors import AlreadyExists, BadAnswer, Conflict, DecodeError, Expired, NotFound, TooManyRequests
from steersman.kinds.core_v1 import ConfigMap, Namespace, Pod, ServiceAccount
from steersman.objects.identity import GroupVersionKind
from steersman.objects.meta import meta
from steersman.objects.resource import Unstructured
from steersman.protocol.http import Response
from steersman.protocol.options import DeleteOptions, ListOptions, LogOptions, WriteOptions
from steersman.protocol.requests import PatchType
from steersman.testing.fake_clock import FakeClock
from tests.client.conftest import ScriptedTransport, failure

MAPS = "/api/v1/namespaces/default/configmaps"
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def config_map(name: str = "a", version: str = "5", **content: Any) -> dict[str, Any]:
    """Return a ConfigMap as the server sends it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": version},
        **content,
    }


# Reading.


async def test_get_reads_an_object_of_a_class_from_the_default_namespace(
    client: Client, transport: ScriptedTransport
) -> None:
    """The namespace of the context is the one that kubectl would use."""
    transport.answers.append(config_map(data={"x": "1"}))
    obj = await client.get(ConfigMap, "a")
    assert obj.data == {"x": "1"}
    assert transport.lines == [f"GET {MAPS}/a"]


async def test_get_by_kind_needs_no_class(client: Client, transport: ScriptedTransport) -> None:
    """Tools read kinds that have no class; one that has a class needs no discovery."""
    transport.answers.append(config_map(future=1))
    obj = await client.get(CONFIG_MAP, "a", "other")
    assert isinstance(obj, Unstructured)
    assert obj.content["future"] == 1
    assert transport.lines == ["GET /api/v1/namespaces/other/configmaps/a"]


async def test_cluster_scoped_objects_have_no_namespace(client: Client, transport: ScriptedTransport) -> None:
    """The default namespace must not end up in their path."""
    transport.answers.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    await client.get(Namespace, "n")
    assert transport.lines == ["GET /api/v1/namespaces/n"]


async def test_try_get_returns_none_for_a_missing_object(client: Client, transport: ScriptedTransport) -> None:
    """Absence is often a valid result; every other failure is raised."""
    transport.answers += [failure(404, "NotFound"), failure(403, "Forbidden")]
    assert await client.try_get(ConfigMap, "a") is None
    with pytest.raises(Exception, match="scripted"):
        await client.try_get(ConfigMap, "a")


async def test_html_page_is_a_clear_error(client: Client, transport: ScriptedTransport) -> None:
    """A proxy may ask for a login."""
    transport.answers.append(Response(200, [("content-type", "text/html")], b"<html>Sign in</html>"))
    with pytest.raises(BadAnswer, match="Sign in"):
        await client.get(ConfigMap, "a")


async def test_answer_that_is_not_an_object_is_a_clear_error(client: Client, transport: ScriptedTransport) -> None:
    """Truncated JSON, or JSON of something else."""
    transport.answers.append(Response(200, [("content-type", "application/json")], b'{"metadata":{"name":'))
    with pytest.raises(DecodeError, match="not a ConfigMap"):
        await client.get(ConfigMap, "a")


def page(*names: str, token: str = "", version: str = "9") -> dict[str, Any]:
    """Return one page of a list; items leave out their kind, as built-in lists do."""
    items = [{key: value for key, value in config_map(name).items() if key == "metadata"} for name in names]
    return {"kind": "ConfigMapList", "metadata": {"resourceVersion": version, "continue": token}, "items": items}


async def test_list_fetches_all_pages(client: Client, transport: ScriptedTransport) -> None:
    """Callers should not need to know continue tokens to see everything."""
    transport.answers += [page("a", "b", token="t1"), page("c", token="t2"), page()]
    assert [obj.name async for obj in client.list(ConfigMap, label_selector="x=y")] == ["a", "b", "c"]
    assert transport.lines == [
        f"GET {MAPS}?labelSelector=x%3Dy&limit=500",
        f"GET {MAPS}?labelSelector=x%3Dy&limit=500&continue=t1",
        f"GET {MAPS}?labelSelector=x%3Dy&limit=500&continue=t2",
    ]


async def test_list_continues_when_its_snapshot_expires(client: Client, transport: ScriptedTransport) -> None:
    """A slow reader of many pages must get every object once."""
    transport.answers += [page("a", "b", token="t1"), failure(410, "Expired"), page("a", "b", "c")]
    assert [obj.name async for obj in client.list(ConfigMap)] == ["a", "b", "c"]
    assert transport.lines[-1] == f"GET {MAPS}"


async def test_list_whose_first_page_expired_fails(client: Client, transport: ScriptedTransport) -> None:
    """No older page can be the cause; retrying forever would hide the error."""
    transport.answers.append(failure(410, "Expired"))
    with pytest.raises(Expired):
        await anext(client.list(ConfigMap))


async def test_list_of_all_namespaces_by_kind_names_each_items_kind(
    client: Client, transport: ScriptedTransport
) -> None:
    """Items of built-in lists leave it out on the wire."""
    transport.answers.append(page("a"))
    (obj,) = [obj async for obj in client.list(CONFIG_MAP, namespace=ALL_NAMESPACES)]
    assert obj.gvk == CONFIG_MAP
    assert transport.lines == ["GET /api/v1/configmaps?limit=500"]


async def test_one_page_has_its_version_and_token(client: Client, transport: ScriptedTransport) -> None:
    """For callers that page themselves."""
    transport.answers.append(page("a", token="t", version="77"))
    got = await client.list_page(ConfigMap, ListOptions(limit=1))
    assert ([obj.name for obj in got.items], got.resource_version, got.continue_token) == (["a"], "77", "t")


# Writing.


async def test_create_sends_the_object_under_the_field_manager(client: Client, transport: ScriptedTransport) -> None:
    """Ownership of fields begins at the creation."""
    transport.answers.append(config_map(data={"x": "1"}))
    made = await client.create(ConfigMap(meta("a"), data={"x": "1"}))
    assert made.resource_version == "5"
    assert transport.lines == [f"POST {MAPS}?fieldManager=tester"]
    assert transport.body() == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}


async def test_failures_are_caught_by_type(client: Client, transport: ScriptedTransport) -> None:
    """Callers should not need to compare status codes."""
    transport.answers.append(failure(409, "AlreadyExists"))
    with pytest.raises(AlreadyExists):
        await client.create(ConfigMap(meta("a")))


async def test_update_sends_only_changes_with_the_version_that_was_read(
    client: Client, transport: ScriptedTransport
) -> None:
    """Fields of other writers are not changed, and a write in between is a conflict."""
    transport.answers += [config_map(data={"x": "1", "y": "2"}, future={"a": 1}), failure(409, "Conflict")]
    obj = await client.get(ConfigMap, "a")
    obj.data["x"] = "3"
    with pytest.raises(Conflict):
        await client.update(obj)
    assert transport.lines[-1] == f"PATCH {MAPS}/a?fieldManager=tester"
    assert transport.asked[-1].headers["content-type"] == PatchType.MERGE
    assert transport.body() == {"data": {"x": "3"}, "metadata": {"resourceVersion": "5"}}


async def test_update_without_changes_sends_nothing(client: Client, transport: ScriptedTransport) -> None:
    """A reconciler that finds the desired state must not send requests."""
    transport.answers.append(config_map(data={"x": "1"}))
    obj = await client.get(ConfigMap, "a")
    assert await client.update(obj) is obj
    assert len(transport.asked) == 1


async def test_modify_reads_again_after_a_conflict(
    client: Client, transport: ScriptedTransport, clock: FakeClock
) -> None:
    """A blind retry would overwrite the other writer's change."""
    transport.answers += [config_map(data={"n": "1"}), failure(409, "Conflict")]
    transport.answers += [config_map(version="6", data={"n": "5"}), config_map(version="7", data={"n": "6"})]

    def count(obj: ConfigMap) -> None:
        obj.data["n"] = str(int(obj.data["n"]) + 1)

    async with asyncio.TaskGroup() as tasks:
        changed = tasks.create_task(client.modify(Ref(ConfigMap, "a"), count))
        await clock.advance(1)
    assert changed.result().resource_version == "7"
    assert transport.body() == {"data": {"n": "6"}, "metadata": {"resourceVersion": "6"}}


async def test_modify_gives_up_after_five_conflicts(
    client: Client, transport: ScriptedTransport, clock: FakeClock
) -> None:
    """Two writers that overwrite each other without end are a bug that must be reported."""
    for _ in range(5):
        transport.answers += [config_map(data={"n": "1"}), failure(409, "Conflict")]

    async def fight() -> None:
        with pytest.raises(Conflict):
            await client.modify(Ref(ConfigMap, "a"), lambda obj: obj.data.update(n="2"))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fight())
        await clock.advance(1)
    assert len(transport.asked) == 10


async def test_modify_without_changes_writes_nothing(client: Client, transport: ScriptedTransport) -> None:
    """As update does."""
    transport.answers.append(config_map())
    await client.modify(Ref(ConfigMap, "a"), lambda _: None)
    assert len(transport.asked) == 1


async def test_object_that_was_not_read_cannot_be_updated(client: Client, transport: ScriptedTransport) -> None:
    """The changes cannot be computed; the message says what to do instead."""
    with pytest.raises(ValueError, match=r"get it first, or use apply\(\) or replace\(\)"):
        await client.update(ConfigMap(meta("a")))
    assert not transport.asked


def pod(**content: Any) -> dict[str, Any]:
    """Return a Pod as the server sends it."""
    metadata = {"name": "p", "namespace": "default", "resourceVersion": "7", "uid": "u"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}]}, **content}


async def test_update_leaves_out_a_status_that_has_its_own_subresource(
    client: Client, transport: ScriptedTransport
) -> None:
    """The server would silently ignore it, and the author would search for the reason."""
    transport.answers += [pod(status={"phase": "Pending"}), pod()]
    obj = await client.get(Pod, "p")
    obj.status.phase = "Running"
    assert await client.update(obj) is obj
    obj.labels["a"] = "b"
    await client.update(obj)
    assert transport.body() == {"metadata": {"labels": {"a": "b"}, "resourceVersion": "7"}}


async def test_status_update_sends_only_changes_of_the_status(client: Client, transport: ScriptedTransport) -> None:
    """Other changes do not belong in a write of the status."""
    transport.answers += [pod(status={"phase": "Pending", "unknown": 1}), pod()]
    obj = await client.get(Pod, "p")
    obj.status.phase = "Running"
    obj.labels["a"] = "b"
    await client.status.update(obj)
    assert transport.lines[-1] == "PATCH /api/v1/namespaces/default/pods/p/status?fieldManager=tester"
    assert transport.body() == {"status": {"phase": "Running"}, "metadata": {"resourceVersion": "7"}}


async def test_status_apply_contains_only_the_status_and_the_name(client: Client, transport: ScriptedTransport) -> None:
    """Applying a spec through the status would claim its fields."""
    transport.answers += [pod(status={"phase": "Pending"}), pod()]
    obj = await client.get(Pod, "p")
    await client.status.apply(obj, force=True)
    assert transport.lines[-1].endswith("/pods/p/status?fieldManager=tester&force=true")
    assert transport.body() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "status": {"phase": "Pending"},
    }


async def test_replace_keeps_fields_that_the_class_does_not_know(client: Client, transport: ScriptedTransport) -> None:
    """A PUT of the typed view would delete them."""
    transport.answers += [config_map(data={"x": "1"}, future={"a": 1}), config_map()]
    obj = await client.get(ConfigMap, "a")
    obj.data["x"] = "2"
    await client.replace(obj)
    assert transport.lines[-1] == f"PUT {MAPS}/a?fieldManager=tester"
    assert transport.body() == config_map(data={"x": "2"}, future={"a": 1})


async def test_apply_sends_the_intent_without_fields_that_the_server_sets(
    client: Client, transport: ScriptedTransport
) -> None:
    """Managed fields in an apply are rejected, and a version would make every second apply a conflict."""
    read = config_map(data={"x": "1"})
    read["metadata"]["managedFields"] = [{"manager": "x", "operation": "Update"}]
    read["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    transport.answers += [read, config_map()]
    obj = await client.get(ConfigMap, "a")
    await client.apply(obj)
    assert transport.lines[-1] == f"PATCH {MAPS}/a?fieldManager=tester"
    assert transport.asked[-1].headers["content-type"] == PatchType.APPLY
    assert transport.body()["metadata"] == {"name": "a", "namespace": "default"}


async def test_patch_takes_a_name_or_an_object_and_any_kind_of_patch(
    client: Client, transport: ScriptedTransport
) -> None:
    """A writer that knows the name needs no read."""
    transport.answers += [config_map(), config_map()]
    await client.patch(Ref(ConfigMap, "a"), {"data": {"x": None}})
    steps = [{"op": "remove", "path": "/data/x"}]
    await client.patch(Ref(CONFIG_MAP, "a", "other"), steps, patch_type=PatchType.JSON)
    assert [request.headers["content-type"] for request in transport.asked] == [PatchType.MERGE, PatchType.JSON]
    assert transport.lines[-1] == "PATCH /api/v1/namespaces/other/configmaps/a?fieldManager=tester"
    assert transport.body() == steps


async def test_options_of_a_call_add_to_those_of_the_client(client: Client, transport: ScriptedTransport) -> None:
    """Strictness for one call must not lose the field manager."""
    transport.answers.append(config_map())
    await client.create(ConfigMap(meta("a")), options=WriteOptions(field_validation="Strict"))
    assert transport.lines == [f"POST {MAPS}?fieldManager=tester&fieldValidation=Strict"]


async def test_object_is_deleted_only_if_it_is_still_the_same(client: Client, transport: ScriptedTransport) -> None:
    """Another object of that name may have been created since it was read."""
    transport.answers += [config_map(), {"kind": "Status", "status": "Success"}]
    await client.delete(await client.get(ConfigMap, "a"))
    assert transport.body() == {"preconditions": {"uid": "uid-a"}}


async def test_delete_with_options_still_deletes_only_the_object_that_was_read(
    client: Client, transport: ScriptedTransport
) -> None:
    """The options say how an object is deleted, not which: another object of that name must not be deleted instead."""
    transport.answers += [config_map(), {"kind": "Status", "status": "Success"}]
    await client.delete(await client.get(ConfigMap, "a"), options=DeleteOptions(propagation_policy="Orphan"))
    assert transport.body() == {"propagationPolicy": "Orphan", "preconditions": {"uid": "uid-a"}}


async def test_delete_by_name_has_no_preconditions(client: Client, transport: ScriptedTransport) -> None:
    """A name means the object that has it, whatever its uid."""
    transport.answers += [config_map(), failure(404, "NotFound"), failure(404, "NotFound")]
    await client.delete(Ref(ConfigMap, "a"))
    assert transport.asked[0].body == b""
    await client.delete(Ref(ConfigMap, "a"), missing_ok=True)
    with pytest.raises(NotFound):
        await client.delete(Ref(ConfigMap, "a"))


async def test_delete_all_deletes_a_selection_in_one_request(client: Client, transport: ScriptedTransport) -> None:
    """The server has a verb for it."""
    transport.answers.append({"kind": "ConfigMapList", "items": []})
    await client.delete_all(ConfigMap, label_selector="x=y", options=DeleteOptions(propagation_policy="Foreground"))
    assert transport.lines == [f"DELETE {MAPS}?labelSelector=x%3Dy"]
    assert transport.body() == {"propagationPolicy": "Foreground"}


async def test_dry_run_view_never_stores_anything(client: Client, transport: ScriptedTransport) -> None:
    """Every verb that writes must send the flag, in the query or in the body."""
    transport.answers += [config_map() for _ in range(4)] + [{"kind": "Status"}, {"kind": "ConfigMapList"}, pod()]
    dry = client.dry_run()
    await dry.create(ConfigMap(meta("a")))
    await dry.apply(ConfigMap(meta("a")))
    await dry.replace(ConfigMap(meta("a")))
    await dry.patch(Ref(ConfigMap, "a"), {}, options=WriteOptions(dry_run=False))
    await dry.delete(Ref(ConfigMap, "a"))
    await dry.delete_all(ConfigMap, options=DeleteOptions(grace_period_seconds=0))
    await dry.status.patch(Ref(Pod, "p"), {})
    for request in transport.asked:
        assert "dryRun=All" in request.target or b'"dryRun":["All"]' in request.body, request
    assert "dry-run" in repr(dry)
    assert "dry-run" not in repr(client)


async def test_patch_for_version_parses_only_the_version_of_the_answer(
    client: Client, transport: ScriptedTransport
) -> None:
    """A caller that needs only the version does not pay for more, and the content may not fit the class."""
    metadata = {"name": "p", "uid": "u-1", "resourceVersion": "8"}
    transport.answers.append({**config_map(), "data": "not a map at all", "metadata": metadata})
    written = await client.status.patch_for_version(ConfigMap(meta("p")), {"data": {"a": "b"}})
    assert (written.uid, written.resource_version) == ("u-1", "8")
    assert transport.asked[0].target.startswith("/api/v1/namespaces/default/configmaps/p/status?")
    assert transport.asked[0].body == b'{"data":{"a":"b"}}'


async def test_another_field_manager_is_a_view_as_well(client: Client, transport: ScriptedTransport) -> None:
    """One process may write for several controllers."""
    transport.answers.append(config_map())
    await client.as_manager("other").apply(ConfigMap(meta("a")))
    assert transport.lines == [f"PATCH {MAPS}/a?fieldManager=other"]
    assert client.field_manager == "tester"


# Subresources.


async def test_scale_patches_the_scale_subresource(client: Client, transport: ScriptedTransport) -> None:
    """It works for every kind that has one, whatever the path of its replicas."""
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "w"},
        "spec": {"replicas": 3},
        "status": {"replicas": 1},
    }
    transport.answers += [scale, scale]
    answer = await client.scale(Ref(Pod, "w"), 3)
    assert (answer.spec.replicas, answer.status.replicas) == (3, 1)
    assert transport.body() == {"spec": {"replicas": 3}}
    await client.get_scale(Ref(Pod, "w"))
    assert [line.partition("?")[0] for line in transport.lines] == [
        "PATCH /api/v1/namespaces/default/pods/w/scale",
        "GET /api/v1/namespaces/default/pods/w/scale",
    ]


async def test_evict_creates_the_eviction_subresource(client: Client, transport: ScriptedTransport) -> None:
    """A disruption budget answers 429, which the caller must handle."""
    transport.answers.append(failure(429, "TooManyRequests", "Cannot evict pod"))
    with pytest.raises(TooManyRequests, match="Cannot evict pod"):
        await client.evict(Ref(Pod, "p"), options=DeleteOptions(grace_period_seconds=5))
    assert transport.lines == ["POST /api/v1/namespaces/default/pods/p/eviction?fieldManager=tester"]
    assert transport.body() == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p", "namespace": "default"},
        "deleteOptions": {"gracePeriodSeconds": 5},
    }


async def test_tokens_are_created_through_their_subresource(client: Client, transport: ScriptedTransport) -> None:
    """The same holds for other subresources that are created."""
    transport.answers.append({"kind": "TokenRequest", "status": {"token": "canary"}})
    answer = await client.create_subresource(Ref(ServiceAccount, "default"), "token", {"spec": {}})
    assert answer["status"] == {"token": "canary"}
    assert transport.lines[0].startswith("POST /api/v1/namespaces/default/serviceaccounts/default/token")


async def test_log_is_yielded_line_by_line(client: Client, transport: ScriptedTransport) -> None:
    """The network may cut it anywhere."""
    transport.add_stream(b"one\ntw", b"o\r\n\xff\nlast", ends=True)
    lines = [line async for line in client.logs(Ref(Pod, "p"), LogOptions(follow=True))]
    assert lines == ["one", "two", "\ufffd", "last"]
    assert transport.lines == ["GET /api/v1/namespaces/default/pods/p/log?follow=true"]


async def test_log_that_is_rejected_raises_the_error_of_the_server(
    client: Client, transport: ScriptedTransport
) -> None:
    """The container may not be running yet."""
    transport.streams.append(failure(400, "BadRequest", "container is waiting to start"))
    with pytest.raises(Exception, match="waiting to start"):
        await anext(client.logs(Ref(Pod, "p")))


# Warnings.


async def test_each_warning_is_shown_once(
    client: Client, transport: ScriptedTransport, caplog: pytest.LogCaptureFixture
) -> None:
    """A server repeats warnings with every request; a log should not."""
    headers = [("content-type", "application/json"), ("warning", '299 - "v1beta1 is \\"old\\""')]
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'
    transport.answers += [Response(200, headers, body), Response(200, headers, body)]
    with caplog.at_level(logging.WARNING, "steersman.client"):
        await client.get(ConfigMap, "a")
        await client.get(ConfigMap, "a")
    assert caplog.messages == ['warning from the API server: v1beta1 is "old"']
