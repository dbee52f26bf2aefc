import json

from steersman.apiserver.watch.hub import BOOKMARK_SECONDS
from tests.apiserver.api import BOATS, Api, boat

WATCH_LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


async def test_a_watch_list_ends_its_initial_events_with_an_annotated_bookmark() -> None:
    """Informers of client-go wait for it, without it forever."""
    api = Api()
    await api.define()
    await api.send("POST", BOATS, boat("b"))
    await api.send("POST", BOATS, boat("a"))
    async with api.watching(f"{BOATS}?{WATCH_LIST}") as events:
        await api.clock.settle()
    assert events.brief == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]
    mark = events.all[-1]["object"]["metadata"]
    assert mark["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert mark["resourceVersion"] == api.server.objects.store.resource_version


async def test_objects_enter_and_leave_a_selection() -> None:
    """An object that leaves is sent as DELETED, as it was last seen, with the version at which it left."""
    api = Api()
    await api.define()
    await api.send("POST", BOATS, boat("a"))
    async with api.watching(f"{BOATS}?watch=1&resourceVersion=0&labelSelector=fast") as events:
        for labels in ({"fast": "1"}, {"fast": "2"}, {"fast": None}):
            patch = {"metadata": {"labels": labels}}
            await api.send("PATCH", f"{BOATS}/a", patch, content_type="application/merge-patch+json")
        await api.clock.settle()
    assert [event["type"] for event in events.all] == ["ADDED", "MODIFIED", "DELETED"]
    left = events.all[-1]["object"]["metadata"]
    assert left["labels"] == {"fast": "2"}
    assert left["resourceVersion"] == api.server.objects.store.resource_version


async def test_a_write_that_changes_nothing_sends_no_event() -> None:
    """Controllers that write an unchanged object must not wake each other up."""
    api = Api()
    await api.define()
    made = await api.ask("POST", BOATS, boat("a", sails=3))
    async with api.watching(f"{BOATS}?watch=1&resourceVersion={made['metadata']['resourceVersion']}") as events:
        again = await api.ask("PUT", f"{BOATS}/a", made)
        await api.clock.settle()
    assert again == made
    assert events.all == []


async def test_an_expired_version_ends_the_watch_with_410() -> None:
    """The client must list again; the error arrives inside the stream."""
    api = Api()
    await api.define()
    made = await api.ask("POST", BOATS, boat("a"))
    await api.send("DELETE", f"{BOATS}/a")
    api.server.expire_history()
    answer = await api.send("GET", f"{BOATS}?watch=1&resourceVersion={made['metadata']['resourceVersion']}")
    assert answer.status == 200
    event = json.loads(answer.body)
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


async def test_bookmarks_come_every_minute_and_carry_the_newest_version() -> None:
    """They let an idle watcher resume without a 410."""
    api = Api()
    await api.define()
    async with api.watching(f"{BOATS}?watch=1&resourceVersion=1&allowWatchBookmarks=1") as events:
        await api.send("POST", "/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
        await api.clock.advance(BOOKMARK_SECONDS * 2 + 1)
    assert events.brief == [("BOOKMARK", ""), ("BOOKMARK", "")]
    assert events.all[0]["object"]["metadata"]["resourceVersion"] == api.server.objects.store.resource_version


async def test_a_watch_ends_at_its_timeout() -> None:
    """Clients set a timeout and resume with the next watch."""
    api = Api()
    await api.define()
    async with api.watching(f"{BOATS}?watch=1&timeoutSeconds=7") as events:
        await api.clock.advance(6)
        assert len(api.server.hub) == 1
        await api.clock.advance(2)
        assert len(api.server.hub) == 0
    assert events.all == []


async def test_watchers_of_one_format_get_one_chunk_per_turn() -> None:
    """A burst of writes is one write to each connection."""
    api = Api()
    await api.define()
    async with api.watching(f"{BOATS}?watch=1&resourceVersion=1") as first, api.watching(f"{BOATS}?watch=1") as second:
        for number in range(20):
            await api.send("POST", BOATS, boat(f"b{number}"))
        await api.server.settle()
        await api.clock.settle()
    assert first.brief == second.brief == [("ADDED", f"b{number}") for number in range(20)]
