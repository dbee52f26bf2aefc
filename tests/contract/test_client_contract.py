"""What the client promises, on every server: the embedded one and a real kube-apiserver."""

import asyncio
import logging
from pathlib import Path

import pytest

from steersman.client.client import Client
from steersman.client.events import EventRecorder
from steersman.client.interfaces import ALL_NAMESPACES, Ref
from steersman.client.wait import has_condition
from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.controller.run.claims import CREATE_ONLY
from steersman.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    UnsupportedMediaType,
    WaitTimeout,
)
from steersman.kinds.apps_v1 import Deployment
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.kinds.events_v1 import Event
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.meta import meta
from steersman.objects.model import Model, sparse
from steersman.objects.registry import Registry, declare
from steersman.objects.resource import KubeObject, Unstructured
from steersman.protocol.manifests import load_objects
from steersman.protocol.options import DeleteOptions, ListOptions, Preconditions, WriteOptions
from steersman.protocol.requests import PatchType
from steersman.protocol.watch_frames import Added, Deleted, Modified
from tests.contract.servers import Server

CRD = Path(__file__).parents[1] / "golden" / "widgets-crd.yaml"
WIDGET = GroupVersionKind("demo.dev", "v1", "Widget")


class WidgetItem(Model):
    """An item of a widget; the server knows a ``value``, too."""

    key: str


class WidgetSpec(Model):
    """A view of a widget's spec that leaves out most of it."""

    color: str
    items: list[WidgetItem] = sparse(list)


@declare(
    ApiResource(gvk=WIDGET, plural="widgets", subresources=frozenset({"status", "scale"})),
    Registry(),
)
class Widget(KubeObject):
    """A view of a widget."""

    spec: WidgetSpec


def widget(name: str, **spec: object) -> Unstructured:
    """Return a widget that the schema accepts."""
    return Unstructured.of(WIDGET, name, spec={"color": "red", **spec})


async def with_widgets(client: Client) -> Client:
    """Install the CRD of widgets and wait until it is served."""
    (definition,) = load_objects(CRD.read_bytes(), source=CRD.name)
    await client.apply(definition, force=True)
    await client.wait_established(definition, timeout=30)
    return client


# Reading and writing.


async def test_object_is_created_changed_and_deleted(server: Server) -> None:
    """The whole life of an object, with the fields that the server adds."""
    async with server.client() as client:
        made = await client.create(ConfigMap(meta("a", labels={"x": "y"}), data={"k": "v"}))
        assert (made.namespace, made.data) == (client.namespace, {"k": "v"})
        assert made.uid
        assert made.resource_version
        read = await client.get(ConfigMap, "a")
        assert read == made
        await client.delete(read)
        assert await client.try_get(ConfigMap, "a") is None


async def test_failures_have_their_own_types(server: Server) -> None:
    """Each by the reason in the server's answer."""
    async with server.client() as client:
        await client.create(ConfigMap(meta("a")))
        with pytest.raises(AlreadyExists):
            await client.create(ConfigMap(meta("a")))
        with pytest.raises(NotFound, match='configmaps "b" not found'):
            await client.get(ConfigMap, "b")
        with pytest.raises(Invalid, match="metadata") as caught:
            await client.create(ConfigMap(meta("Not A Name")))
        assert caught.value.causes[0].field == "metadata.name"
        with pytest.raises(NotFound):
            await client.create(ConfigMap(meta("a", namespace="no-such-namespace")))


async def test_pages_are_the_whole_list(server: Server) -> None:
    """At one version, in order, and each object once."""
    async with server.client() as client:
        for number in range(5):
            await client.create(Secret(meta(f"s{number}", labels={"odd": str(number % 2)})))
        names = [obj.name async for obj in client.list(Secret)]
        assert names == [f"s{number}" for number in range(5)]
        assert [obj.name async for obj in client.list(Secret, label_selector="odd=1")] == ["s1", "s3"]
        first = await client.list_page(Secret, ListOptions(limit=2))
        second = await client.list_page(Secret, ListOptions(limit=2, continue_=first.continue_token))
        assert [obj.name for obj in (*first.items, *second.items)] == ["s0", "s1", "s2", "s3"]
        assert first.resource_version == second.resource_version
        found = {obj.namespace async for obj in client.list(Secret, namespace=ALL_NAMESPACES, label_selector="odd")}
        assert client.namespace in found


async def test_update_from_an_old_version_is_rejected(server: Server) -> None:
    """The version that was read is the precondition."""
    async with server.client() as client:
        mine = await client.create(ConfigMap(meta("a"), data={"k": "1"}))
        await client.patch(mine, {"data": {"other": "x"}})
        mine.data["k"] = "2"
        with pytest.raises(Conflict):
            await client.update(mine)
        fresh = await client.get(ConfigMap, "a")
        fresh.data["k"] = "2"
        assert (await client.update(fresh)).data == {"k": "2", "other": "x"}


async def test_concurrent_modifications_are_all_kept(server: Server) -> None:
    """Each writer sees the changes of the others."""

    def count(obj: ConfigMap) -> None:
        obj.data["n"] = str(int(obj.data["n"]) + 1)

    async with server.client() as client:
        await client.create(ConfigMap(meta("a"), data={"n": "0"}))
        async with asyncio.TaskGroup() as tasks:
            for _ in range(4):
                tasks.create_task(client.modify(Ref(ConfigMap, "a"), count))
        assert (await client.get(ConfigMap, "a")).data == {"n": "4"}


async def test_fields_that_the_class_does_not_know_survive_an_update(server: Server) -> None:
    """Even inside the items of a list that is replaced as a whole."""
    async with server.client() as client:
        await with_widgets(client)
        items = [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]
        await client.create(widget("w", replicas=3, items=items))
        view = await client.get(Widget, "w")
        view.spec.color = "blue"
        view.spec.items.append(WidgetItem(key="c"))
        await client.update(view)
        spec = (await client.get(WIDGET, "w")).content["spec"]
        assert (spec["color"], spec["replicas"]) == ("blue", 3)
        assert [{name: item.get(name) for name in ("key", "value")} for item in spec["items"]][:2] == items
        view = await client.get(Widget, "w")
        view.spec.color = "green"
        await client.replace(view)
        assert (await client.get(WIDGET, "w")).content["spec"]["replicas"] == 3


async def test_patches_of_every_kind_work(server: Server) -> None:
    """JSON, merge and strategic; the last only for built-in kinds."""
    async with server.client() as client:
        await with_widgets(client)
        made = await client.create(ConfigMap(meta("a"), data={"k": "1"}))
        steps = [{"op": "test", "path": "/data/k", "value": "1"}, {"op": "add", "path": "/data/j", "value": "2"}]
        assert (await client.patch(made, steps, patch_type=PatchType.JSON)).data == {"k": "1", "j": "2"}
        assert (await client.patch(made, {"data": {"k": None}})).data == {"j": "2"}
        strategic = await client.patch(made, {"data": {"s": "3"}}, patch_type=PatchType.STRATEGIC)
        assert strategic.data == {"j": "2", "s": "3"}
        await client.create(widget("w"))
        with pytest.raises(UnsupportedMediaType):
            await client.patch(Ref(WIDGET, "w"), {"spec": {}}, patch_type=PatchType.STRATEGIC)


async def test_apply_creates_changes_and_removes(server: Server) -> None:
    """Fields that were applied before and are left out now are removed; fields of other managers stay."""
    async with server.client() as client:
        await client.apply(ConfigMap(meta("a"), data={"mine": "1", "gone": "1"}))
        await client.patch(Ref(ConfigMap, "a"), {"data": {"theirs": "1"}})
        applied = await client.apply(ConfigMap(meta("a"), data={"mine": "2"}))
        assert applied.data == {"mine": "2", "theirs": "1"}


async def test_apply_names_the_manager_of_a_conflicting_field(server: Server) -> None:
    """And takes it only with force."""
    async with server.client() as client:
        await client.apply(ConfigMap(meta("a"), data={"k": "1"}))
        other = client.as_manager("other")
        with pytest.raises(Conflict, match="contract"):
            await other.apply(ConfigMap(meta("a"), data={"k": "2"}))
        assert (await other.apply(ConfigMap(meta("a"), data={"k": "2"}), force=True)).data == {"k": "2"}


async def test_apply_respects_its_preconditions(server: Server) -> None:
    """A controller relies on it not to take over an object that was created or replaced meanwhile."""
    nobody = "00000000-0000-4000-8000-000000000000"
    async with server.client() as plain:
        client = await with_widgets(plain)
        for kind, first, second in (
            (ConfigMap, ConfigMap(meta("a"), data={"x": "1"}), ConfigMap(meta("a"), data={"x": "2"})),
            (WIDGET, widget("a"), widget("a", color="blue")),
        ):
            with pytest.raises(Conflict, match="uid mismatch"):
                await client.apply(first, preconditions=Preconditions(uid=nobody))
            made = await client.apply(first, preconditions=CREATE_ONLY)
            with pytest.raises(Conflict, match="has been modified"):
                await client.as_manager("other").apply(second, force=True, preconditions=CREATE_ONLY)
            with pytest.raises(Invalid, match="immutable") as refused:
                await client.apply(second, preconditions=Preconditions(uid=nobody))
            assert {cause.field for cause in refused.value.causes} == {"metadata.uid"}
            kept = await client.try_get_metadata(kind, "a")
            assert kept is not None
            assert (kept.uid, kept.resource_version) == (made.uid, made.resource_version)
            assert [entry.manager for entry in kept.metadata.managed_fields] == ["contract"]
            exact = Preconditions(uid=made.uid, resource_version=made.resource_version)
            changed = await client.apply(second, preconditions=exact)
            assert changed.resource_version != made.resource_version
            with pytest.raises(Conflict, match="has been modified"):
                await client.apply(first, preconditions=exact)
            assert (await client.apply(second, preconditions=Preconditions(uid=made.uid))).uid == made.uid
        assert await client.try_get_metadata(ConfigMap, "missing") is None


async def test_metadata_can_be_listed_without_content(server: Server) -> None:
    """An operator that only needs names and labels need not receive the contents of all Secrets."""
    async with server.client() as plain:
        client = await with_widgets(plain)
        await client.create(ConfigMap(meta("a", labels={"app": "web"}), data={"x": "1"}))
        await client.create(ConfigMap(meta("b"), data={"x": "1"}))
        await client.create(widget("w", color="blue"))
        selected = client.list_metadata(ConfigMap, label_selector="app=web")
        assert [(one.name, one.labels) async for one in selected] == [("a", {"app": "web"})]
        named = client.list_metadata(ConfigMap, field_selector="metadata.name=b")
        assert [(one.name, one.resource_version != "") async for one in named] == [("b", True)]
        assert [one.name async for one in client.list_metadata(WIDGET)] == ["w"]


async def test_what_was_read_can_be_applied(server: Server) -> None:
    """What only the server sets is left out."""
    async with server.client() as client:
        await client.apply(ConfigMap(meta("a"), data={"k": "1"}))
        read = await client.get(ConfigMap, "a")
        read.data["k"] = "2"
        assert (await client.apply(read)).data == {"k": "2"}


async def test_status_is_written_separately(server: Server) -> None:
    """Neither writer can change the other's half."""
    async with server.client() as client:
        await with_widgets(client)
        await client.create(widget("w", replicas=1))
        loose = await client.get(WIDGET, "w")
        loose.content["status"] = {"replicas": 1}
        loose.content["spec"]["color"] = "blue"
        written = await client.status.update(loose)
        assert written.content["status"]["replicas"] == 1
        assert written.content["spec"]["color"] == "red"
        assert written.generation == 1
        patched = await client.status.patch(Ref(WIDGET, "w"), {"status": {"replicas": 2}})
        assert patched.content["status"]["replicas"] == 2
        patched.content["status"]["replicas"] = 3
        assert (await client.status.replace(patched)).content["status"]["replicas"] == 3


async def test_scale_changes_the_replicas(server: Server) -> None:
    """For every kind with that subresource."""
    async with server.client() as client:
        await with_widgets(client)
        await client.create(widget("w", replicas=1))
        assert (await client.get_scale(Ref(WIDGET, "w"))).spec.replicas == 1
        assert (await client.scale(Ref(WIDGET, "w"), 4)).spec.replicas == 4
        assert (await client.get(WIDGET, "w")).content["spec"]["replicas"] == 4


async def test_dry_run_stores_nothing(server: Server) -> None:
    """The server validates and answers as if it did."""
    async with server.client() as client:
        dry = client.dry_run()
        assert (await dry.create(ConfigMap(meta("a"), data={"k": "1"}))).data == {"k": "1"}
        assert await client.try_get(ConfigMap, "a") is None
        kept = await client.create(ConfigMap(meta("b")))
        await dry.delete(kept)
        await dry.patch(kept, {"data": {"k": "1"}})
        assert await client.get(ConfigMap, "b") == kept


async def test_recreated_object_is_not_deleted_instead_of_the_one_that_was_read(server: Server) -> None:
    """Names are used again; uids are not."""
    async with server.client() as client:
        first = await client.create(ConfigMap(meta("a")))
        await client.delete(first)
        second = await client.create(ConfigMap(meta("a")))
        with pytest.raises(Conflict):
            await client.delete(first)
        with pytest.raises(Conflict):
            await client.delete(second, options=DeleteOptions(preconditions=Preconditions(resource_version="1")))
        await client.delete(second)


async def test_delete_all_deletes_the_selected_objects(server: Server) -> None:
    """And nothing else."""
    async with server.client() as client:
        for name, label in (("a", "x"), ("b", "x"), ("c", "y")):
            await client.create(Secret(meta(name, labels={"l": label})))
        await client.delete_all(Secret, label_selector="l=x")
        assert [obj.name async for obj in client.list(Secret)] == ["c"]


async def test_strict_validation_rejects_unknown_fields(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """By default the server only warns, and the warning is logged."""
    async with server.client() as client:
        await with_widgets(client)
        with pytest.raises(BadRequest, match=r'unknown field "spec\.bogus"'):
            await client.create(widget("w", bogus=1), options=WriteOptions(field_validation="Strict"))
        with caplog.at_level(logging.WARNING, "steersman.client"):
            await client.create(widget("w", bogus=1))
        assert 'unknown field "spec.bogus"' in caplog.text


# Watching and waiting.


async def test_watch_yields_the_state_and_then_every_change(server: Server) -> None:
    """In the order in which they were made."""
    async with server.client() as client:
        await client.create(Secret(meta("a")))
        async with client.watch(Secret) as events:
            assert [obj.name for obj in await events.initial()] == ["a"]
            made = await client.create(Secret(meta("b")))
            await client.patch(made, {"metadata": {"labels": {"x": "y"}}})
            await client.delete(Ref(Secret, "a"))
            seen = [await anext(events) for _ in range(3)]
        assert [(type(event), event.object.name) for event in seen] == [
            (Added, "b"),
            (Modified, "b"),
            (Deleted, "a"),
        ]


async def test_selector_of_a_watch_is_evaluated_by_the_server(server: Server) -> None:
    """An object that no longer matches is reported as deleted."""
    async with server.client() as client, client.watch(Secret, label_selector="pick=yes") as events:
        assert await events.initial() == []
        await client.create(Secret(meta("out")))
        made = await client.create(Secret(meta("a", labels={"pick": "yes"})))
        assert (await anext(events)).object.name == "a"
        await client.patch(made, {"metadata": {"labels": {"pick": None}}})
        gone = await anext(events)
        assert isinstance(gone, Deleted)


async def test_watch_resumes_from_a_version(server: Server) -> None:
    """Nothing between the version and the watch is lost."""
    async with server.client() as client:
        first = await client.create(Secret(meta("a")))
        await client.create(Secret(meta("b")))
        async with client.watch(Secret, since=first.resource_version) as events:
            assert (await anext(events)).object.name == "b"


async def test_waits_for_conditions_and_deletion(server: Server) -> None:
    """Until it has a condition, until it is deleted."""
    async with server.client() as client:
        await with_widgets(client)
        await client.create(widget("w"))
        target: Ref[Unstructured] = Ref(WIDGET, "w")
        with pytest.raises(WaitTimeout):
            await client.wait_for(target, has_condition("Ready"), timeout=0.3)
        await client.patch(target, {"metadata": {"finalizers": ["demo.dev/hold"]}})
        await client.delete(target)
        held = await client.wait_for(target, lambda obj: obj.is_deleting, timeout=10)
        with pytest.raises(WaitTimeout, match="it exists"):
            await client.wait_deleted(held, timeout=0.3)
        await client.patch(target, {"metadata": {"finalizers": None}})
        await client.wait_deleted(held, timeout=10)


# Discovery and events.


async def test_kinds_are_found_by_their_usual_names(server: Server) -> None:
    """Built-in and custom kinds."""
    async with server.client() as client:
        await with_widgets(client)
        assert (await client.discovery.find("deploy")).gvk == Deployment.__resource__.gvk
        pods = await client.discovery.find("pods")
        assert {"status", "log", "eviction"} <= pods.subresources
        async with asyncio.timeout(20):
            while True:
                try:
                    found = await client.discovery.find("widgets.demo.dev")
                    break
                except NotFound:
                    await RealClock().sleep(0.2)
        assert (found.gvk.kind, found.namespaced) == ("Widget", True)


async def test_events_are_accepted(server: Server) -> None:
    """With all fields that the new API requires, and as a series if they repeat."""
    async with server.client() as client:
        about = await client.create(ConfigMap(meta("a")))
        recorder = EventRecorder(client, controller="demo.dev/contract", instance="contract-0", clock=RealClock())
        async with background(recorder.run(), name="events"):
            recorder.record(about, "Warning", "Broken", "it broke")
            recorder.record(about, "Warning", "Broken", "it broke")
            await recorder.wait_sent()
        (event,) = [event async for event in client.list(Event)]
        assert (event.reason, event.note, event.regarding and event.regarding.uid) == ("Broken", "it broke", about.uid)
        assert event.series is not None
        assert event.series.count == 2
        assert recorder.dropped == 0


async def test_three_megabyte_object_is_rejected_or_stored_but_never_hangs(server: Server) -> None:
    """A ConfigMap may have one mebibyte of data."""
    async with server.client() as client:
        with pytest.raises(Invalid, match="Too long"):
            await client.create(ConfigMap(meta("a"), data={"k": "x" * 2_000_000}))
