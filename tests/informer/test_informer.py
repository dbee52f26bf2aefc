"""The informer with a server that misbehaves on demand."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.concurrency import background
from steersman.errors import Forbidden, NotFound, WaitTimeout
from steersman.informer.changes import Added, Change, Deleted, Updated, record_of
from steersman.informer.informer import Informer, InformerOptions, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.objects.identity import ApiResource, GroupVersionKind, ObjectKey
from steersman.objects.resource import Unstructured
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport
from tests.informer.scripted import ScriptedServer, status

WIDGETS = ApiResource(gvk=GroupVersionKind("example.com", "v1", "Widget"), plural="widgets")


def make(server: ScriptedServer, clock: FakeClock, selection: Selection | None = None) -> Informer[Unstructured]:
    """Return an informer of the server's widgets."""
    link = ApiConnection(InMemoryTransport(server, clock=clock), clock, Randomness(1))
    return Informer(Unstructured, link, selection or Selection(), resource=WIDGETS)


@asynccontextmanager
async def running(
    server: ScriptedServer, clock: FakeClock, selection: Selection | None = None
) -> AsyncIterator[tuple[Informer[Unstructured], list[str]]]:
    """Run an informer with a handler that records its changes."""
    informer = make(server, clock, selection)
    told: list[str] = []
    informer.add_handler(lambda change: told.append(describe(change)))
    async with background(informer.run(), name="informer"):
        await clock.settle()
        yield informer, told


def describe(change: Change) -> str:
    """Describe a change in short."""
    marks = {Added: "+", Updated: "~", Deleted: "-"}
    return f"{marks[type(change)]}{record_of(change).key.name}"


def names(informer: Informer[Unstructured]) -> list[str]:
    """Return the names of the cached objects."""
    return sorted(widget.name for widget in informer)


@pytest.mark.parametrize("knows_watch_list", [True, False])
async def test_the_first_state_arrives_by_stream_or_by_list(knows_watch_list: bool) -> None:
    """A server without WatchList is supported as well."""
    server = ScriptedServer(knows_watch_list=knows_watch_list)
    server.put("a")
    server.put("b")
    async with running(server, FakeClock()) as (informer, told):
        assert informer.is_synced
        assert names(informer) == ["a", "b"]
        assert told == ["+a", "+b"]


async def test_changes_are_in_the_store_before_handlers_are_called() -> None:
    """A handler that reads the cache finds the change that it was called for."""
    server = ScriptedServer()
    clock = FakeClock()
    informer = make(server, clock)
    seen: list[bool] = []
    informer.add_handler(lambda change: seen.append(record_of(change).key in informer))
    async with background(informer.run(), name="informer"):
        await clock.settle()
        server.put("a")
        server.put("a")
        await clock.settle()
    assert seen == [True, True]


async def test_a_watch_that_ends_is_resumed_at_its_version() -> None:
    """The normal end of a watch causes no list and no wait."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (informer, told):
        server.put("a")
        await clock.settle()
        server.close()
        await clock.settle()
        server.put("b")
        await clock.settle()
        assert server.log == ["watchlist@", "watch@101"]
        assert (names(informer), told) == (["a", "b"], ["+a", "+b"])


async def test_changes_while_the_watch_was_broken_are_not_lost() -> None:
    """A change, a deletion and an addition in a gap arrive once each."""
    server = ScriptedServer()
    server.put("a")
    server.put("b")
    async with running(server, clock := FakeClock()) as (informer, told):
        server.abort()
        server.delete("a")
        server.put("b")
        server.put("c")
        await clock.advance(5.0)
        assert names(informer) == ["b", "c"]
        assert told == ["+a", "+b", "-a", "~b", "+c"]


async def test_deletions_in_a_gap_beyond_the_history_are_found() -> None:
    """410: the new state is compared with the old one, so that no deleted object stays."""
    server = ScriptedServer()
    server.put("a")
    server.put("b")
    async with running(server, clock := FakeClock()) as (informer, told):
        server.delete("a", tell=False)
        server.put("c", tell=False)
        server.send(b'{"type":"ERROR","object":' + status(410, "Expired", "too old resource version") + b"}\n")
        await clock.advance(5.0)
        assert names(informer) == ["b", "c"]
        assert told[2:] == ["-a", "+c"]


async def test_a_recreated_object_is_a_deletion_and_an_addition() -> None:
    """Same name, new uid, seen only afterwards."""
    server = ScriptedServer()
    server.put("a")
    async with running(server, clock := FakeClock()) as (_, told):
        server.delete("a", tell=False)
        server.put("a", tell=False, uid="second")
        server.send(b'{"type":"ERROR","object":' + status(410, "Expired") + b"}\n")
        await clock.advance(5.0)
        assert told == ["+a", "-a", "+a"]


async def test_duplicate_events_are_delivered_once() -> None:
    """After a reconnect a server may repeat events."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (_, told):
        server.put("a")
        server.put("a")
        for _, frame in server.history:
            server.send(frame)
        await clock.settle()
        assert told == ["+a", "~a"]


async def test_a_deletion_overtaken_by_an_older_event_stays() -> None:
    """Reordered events do not restore deleted objects."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (informer, told):
        server.put("a")
        server.put("a", tell=False)
        late = server.frame("MODIFIED", server.objects["a"])
        server.delete("a")
        server.send(late)
        await clock.settle()
        assert (names(informer), told) == ([], ["+a", "-a"])


@pytest.mark.parametrize(
    "failure",
    [
        (429, status(429, "TooManyRequests")),
        (500, status(500, "InternalError")),
        (503, b"busy"),
        (504, status(504, "Timeout")),
        (401, status(401, "Unauthorized")),
        "reset",
    ],
)
async def test_after_any_failures_the_cache_is_correct(failure: tuple[int, bytes] | str) -> None:
    """Whatever a server answers for a while, afterwards nothing is missing; the handlers notice nothing."""
    server = ScriptedServer()
    server.put("a")
    async with running(server, clock := FakeClock()) as (informer, told):
        server.failures = [failure] * 8
        server.abort()
        await clock.advance(1.0)
        server.delete("a")
        server.put("b")
        await clock.advance(400.0)
        assert names(informer) == ["b"]
        assert told == ["+a", "-a", "+b"]
        assert informer.freshness().reason == ""


async def test_a_silent_watch_is_detected_and_replaced() -> None:
    """Half-open: the connection is up, but nothing arrives; the cache must not be frozen forever."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (informer, _):
        server.streams.clear()
        server.put("a", tell=False)
        server.history.append((server.version, server.frame("ADDED", server.objects["a"])))
        await clock.advance(80.0)
        assert names(informer) == ["a"]


async def test_a_trickle_of_bytes_does_not_keep_a_dead_watch_open() -> None:
    """Bytes that never become an event update nothing, however regularly they arrive."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (informer, _):
        server.put("a", tell=False)
        frame = server.frame("ADDED", server.objects["a"])
        server.history.append((server.version, frame))
        for byte in frame[:4]:
            server.send(bytes([byte]))
            await clock.advance(50.0)
        assert names(informer) == ["a"]


async def test_a_watch_that_the_server_does_not_end_is_ended_by_the_client() -> None:
    """Each watch has a timeout of 5 to 10 minutes; a server that exceeds it and only repeats events is not trusted."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (informer, _):
        server.put("a", tell=False)
        server.history.append((server.version, server.frame("ADDED", server.objects["a"])))
        server.version -= 1
        for _ in range(12):
            server.send(server.bookmark())
            await clock.advance(60.0)
        assert names(informer) == ["a"]


async def test_a_quiet_watch_with_bookmarks_stays_open() -> None:
    """Silence does not mean failure: a kind that does not change has no events."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()):
        for _ in range(4):
            await clock.advance(62.0)
            server.send(server.bookmark())
        await clock.settle()
        assert server.log == ["watchlist@"]


async def test_a_watch_cut_in_the_middle_of_an_event_loses_nothing() -> None:
    """Half an event is discarded."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (informer, told):
        server.put("a", tell=False)
        frame = server.frame("ADDED", server.objects["a"])
        server.history.append((server.version, frame))
        server.send(frame[:20])
        await clock.settle()
        server.abort()
        await clock.advance(5.0)
        assert (names(informer), told) == (["a"], ["+a"])


async def test_bookmarks_reach_no_handler_but_update_the_version() -> None:
    """A quiet kind resumes from the last bookmark instead of listing again."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (_, told):
        server.version = 500
        server.send(server.bookmark())
        await clock.settle()
        server.close()
        await clock.settle()
        assert server.log[-1] == "watch@500"
        assert told == []


async def test_invalid_events_are_skipped() -> None:
    """An unknown event type, another kind and invalid metadata do not stop the rest."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (informer, told):
        server.send(b'{"type":"HELLO","object":{}}\n')
        server.send(server.frame("ADDED", {"kind": "Table", "metadata": {"name": "t"}}))
        server.send(server.frame("ADDED", {"kind": "Widget", "metadata": {"name": 7}}))
        server.put("a")
        await clock.settle()
        assert (names(informer), told) == (["a"], ["+a"])


async def test_a_late_handler_gets_all_objects_as_initial() -> None:
    """Controllers that join later see the same state."""
    server = ScriptedServer()
    server.put("a")
    async with running(server, clock := FakeClock()) as (informer, _):
        told: list[Change] = []
        late = informer.add_handler(told.append)
        assert not late.is_synced
        await clock.settle()
        assert late.is_synced
        assert [isinstance(change, Added) and change.is_initial for change in told] == [True]


async def test_a_slow_handler_does_not_delay_the_others() -> None:
    """Each handler has a buffer and a task of its own."""
    server = ScriptedServer()
    clock = FakeClock()
    informer = make(server, clock)
    slow: list[str] = []
    fast: list[str] = []

    async def dawdle(change: Change) -> None:
        await clock.sleep(10.0)
        slow.append(describe(change))

    sleepy = informer.add_handler(dawdle)
    informer.add_handler(lambda change: fast.append(describe(change)))
    async with background(informer.run(), name="informer"):
        await clock.settle()
        for _ in range(3):
            server.put("a")
        await clock.settle()
        assert (fast, slow) == (["+a", "~a", "~a"], [])
        assert sleepy.backlog == 2
        await clock.advance(30.0)
        assert slow == fast


async def test_a_flood_of_changes_lets_other_tasks_run() -> None:
    """Twenty thousand objects at the start must not freeze leases, probes and timers."""
    server = ScriptedServer()
    for number in range(1000):
        server.put(f"w-{number}", tell=False)
    clock = FakeClock()
    informer = make(server, clock)
    order: list[str] = []
    loop = asyncio.get_running_loop()

    def handler(change: Change) -> None:
        if record_of(change).key.name == "w-10":
            loop.call_soon(order.append, "others")
        order.append("change")

    informer.add_handler(handler)
    async with background(informer.run(), name="informer"):
        await clock.settle()
    assert order.count("change") == 1000
    assert order.index("others") < 300


async def test_a_raising_handler_skips_one_change_and_continues() -> None:
    """A bug in one handler loses one change of that handler."""
    server = ScriptedServer()
    clock = FakeClock()
    informer = make(server, clock)
    good: list[str] = []

    def fragile(change: Change) -> None:
        if describe(change) == "+a":
            raise RuntimeError("bug")
        good.append(describe(change))

    informer.add_handler(fragile)
    async with background(informer.run(), name="informer"):
        await clock.settle()
        server.put("a")
        server.put("b")
        await clock.settle()
        assert good == []
        await clock.advance(1.0)
        assert good == ["+b"]


async def test_resync_repeats_all_objects_to_its_handlers_without_a_request() -> None:
    """A resync iterates over the cache."""
    server = ScriptedServer()
    server.put("a")
    async with running(server, clock := FakeClock()) as (informer, others):
        told: list[Change] = []
        informer.add_handler(told.append, resync=30.0)
        await clock.advance(30.0)
        requests = len(server.log)
        await clock.advance(30.0)
        assert [isinstance(change, Updated) and change.is_resync for change in told] == [False, True, True]
        assert others == ["+a"]
        assert len(server.log) == requests
    with pytest.raises(ValueError, match="resync"):
        informer.add_handler(told.append, resync=0.5)


@pytest.mark.parametrize(
    ("code", "reason", "error", "words"),
    [(404, "NotFound", NotFound, "does not serve Widget"), (403, "Forbidden", Forbidden, "not allowed")],
)
async def test_a_missing_or_forbidden_kind_is_reported_and_starts_when_it_is_served(
    code: int, reason: str, error: type[Exception], words: str
) -> None:
    """Optional kinds wait with a clear reason and start by themselves."""
    server = ScriptedServer(failures=[(code, status(code, reason))] * 3)
    async with running(server, clock := FakeClock()) as (informer, told):
        freshness = informer.freshness()
        assert not freshness.is_synced
        assert isinstance(freshness.error, error)
        assert words in freshness.reason
        server.put("a")
        await clock.advance(60.0)
        assert informer.is_synced
        assert told == ["+a"]


async def test_a_nudge_ends_the_wait() -> None:
    """A caller that knows that the kind is served now can end the back-off."""
    server = ScriptedServer(failures=[(404, status(404, "NotFound"))] * 2)
    async with running(server, clock := FakeClock()) as (informer, _):
        assert not informer.is_synced
        informer.nudge()
        await clock.settle()
        assert informer.is_synced


async def test_a_removed_kind_removes_its_objects() -> None:
    """When a CRD is deleted its cache is emptied, with the reason."""
    server = ScriptedServer()
    server.put("a")
    async with running(server, clock := FakeClock()) as (informer, told):
        server.failures = [(404, status(404, "NotFound"))] * 50
        server.close()
        await clock.advance(5.0)
        assert told == ["+a", "-a"]
        assert "does not serve Widget" in informer.freshness().reason


async def test_waiting_for_sync_reports_the_reason() -> None:
    """'Timed out' alone explains nothing."""
    clock = FakeClock()
    server = ScriptedServer(failures=[(403, status(403, "Forbidden", "user may not list widgets"))] * 99)
    informer = make(server, clock)
    async with background(informer.run(), name="informer"), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_waited(informer))
        await clock.advance(10.0)
        assert "user may not list widgets" in await waiting


async def _waited(informer: Informer[Unstructured]) -> str:
    with pytest.raises(WaitTimeout) as caught:
        await informer.wait_synced(within=10.0)
    return str(caught.value)


async def test_several_namespaces_are_one_cache() -> None:
    """A list of one namespace never deletes the objects of another."""
    clock = FakeClock()
    server = ScriptedServer()
    server.put("a")
    selection = Selection(namespaces=("ns", "other"), watch_list=False)
    async with running(server, clock, selection) as (informer, _):
        assert informer.is_synced
        assert names(informer) == ["a"]


async def test_freshness_is_the_age_of_the_last_event() -> None:
    """A health check must distinguish a quiet kind from a dead watch."""
    server = ScriptedServer()
    async with running(server, clock := FakeClock()) as (informer, _):
        await clock.advance(20.0)
        assert informer.freshness().age == 20.0
        server.send(server.bookmark())
        await clock.settle()
        assert informer.freshness().age == 0.0


async def test_typed_handlers_get_objects_and_cannot_change_the_cache() -> None:
    """Each read returns a new object: changing it changes nothing else."""
    server = ScriptedServer()
    server.put("a", spec={"n": 1})
    clock = FakeClock()
    informer = make(server, clock)
    told: list[Any] = []

    def vandal(new: Unstructured) -> None:
        new.content["spec"]["n"] = 99
        told.append(new)

    informer.handle(added=vandal, deleted=lambda last: told.append(last.name))
    async with background(informer.run(), name="informer"):
        await clock.settle()
        mine = informer.get("ns/a")
        assert mine is not None
        assert mine.content["spec"] == {"n": 1}
        server.delete("a")
        await clock.settle()
        assert told[1:] == ["a"]


async def test_user_indexes_and_selectors_answer_from_the_cache() -> None:
    """Listers answer the queries of reconcilers."""
    server = ScriptedServer()
    server.put("a", labels={"app": "web"}, spec={"node": "n1"})
    server.put("b", spec={"node": "n2"})

    def by_node(widget: Unstructured) -> list[str]:
        return [widget.content["spec"]["node"]]

    async with running(server, FakeClock()) as (informer, _):
        informer.add_index("node", by_node)
        assert [found.name for found in informer.by_index("node", "n2")] == ["b"]
        assert [found.name for found in informer.list("app=web")] == ["a"]
        assert [found.name for found in informer.list(namespace="elsewhere")] == []
        assert "ns/a" in informer
        assert len(informer) == 2


async def test_an_index_function_that_fails_leaves_the_object_out(caplog: pytest.LogCaptureFixture) -> None:
    """An object that is not as the author expects must not stop the cache of all the others."""
    server = ScriptedServer()
    server.put("a", spec={"node": "n1"})
    server.put("b", spec={})

    def by_node(widget: Unstructured) -> list[str]:
        return [widget.content["spec"]["node"]]

    async with running(server, FakeClock()) as (informer, _):
        informer.add_index("node", by_node)
        assert [found.name for found in informer.by_index("node", "n1")] == ["a"]
        assert len(informer) == 2
    assert "an index function failed: the object is left out" in caplog.text


async def test_used_as_a_context_it_is_synced_inside_and_gone_outside() -> None:
    """The shortest way to a cache, as a script uses it."""
    server = ScriptedServer()
    server.put("a")
    async with make(server, FakeClock()) as widgets:
        assert widgets.get(ObjectKey("ns", "a")) is not None
    assert server.streams == []


async def test_a_transform_shrinks_the_cached_object() -> None:
    """Memory is saved before the store, not after."""
    server = ScriptedServer()
    server.put("a", spec={"big": "x" * 1000})

    def slim(document: dict[str, Any]) -> dict[str, Any]:
        document.pop("spec")
        return document

    transform: Callable[[dict[str, Any]], dict[str, Any]] = slim
    clock = FakeClock()
    link = ApiConnection(InMemoryTransport(server, clock=clock), clock, Randomness(1))
    options = InformerOptions(transform=transform)
    async with Informer(Unstructured, link, resource=WIDGETS, options=options) as widgets:
        kept = widgets.get("ns/a")
        assert kept is not None
        assert "spec" not in kept.content
