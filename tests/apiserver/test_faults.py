import pytest

from steersman.apiserver.faults import requests_of
from steersman.errors import ConnectionLost
from tests.apiserver.api import BOATS, Api, boat


async def test_the_next_requests_fail_and_later_ones_succeed() -> None:
    """A test sets the number; a failed request has no effect."""
    api = Api()
    await api.define()
    api.server.faults.refuse(429, times=2, matches=requests_of("POST", "/boats"), retry_after=1)
    answers = [await api.send("POST", BOATS, boat("a")) for _ in range(3)]
    assert [answer.status for answer in answers] == [429, 429, 201]
    assert answers[0].header("retry-after") == "1"


async def test_a_connection_breaks_before_or_after_the_request_is_processed() -> None:
    """The client cannot know which; a test can choose either."""
    api = Api()
    await api.define()
    for after, status in ((False, 404), (True, 200)):
        api.server.faults.reset(matches=requests_of("POST"), after=after)
        with pytest.raises(ConnectionLost):
            await api.send("POST", BOATS, boat("a"))
        assert (await api.send("GET", f"{BOATS}/a")).status == status


async def test_a_response_can_be_delayed() -> None:
    """Timeouts of clients are tested with the clock, not by waiting."""
    api = Api()
    await api.define()
    api.server.faults.delay(30)
    before = api.clock.monotonic()
    import asyncio  # noqa: PLC0415 - only this test has two things going on

    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(api.send("GET", BOATS))
        await api.clock.advance(31)
    assert asked.result().status == 200
    assert api.clock.monotonic() - before >= 30


@pytest.mark.parametrize(("what", "names"), [("drop", ["b", "c"]), ("duplicate", ["a", "a", "b", "c"])])
async def test_events_can_be_dropped_or_duplicated(what: str, names: list[str]) -> None:
    """Informers must survive both."""
    api = Api()
    await api.define()
    async with api.watching(f"{BOATS}?watch=1") as events:
        api.server.faults.watch(what)
        for name in ("a", "b", "c"):
            await api.send("POST", BOATS, boat(name))
            await api.clock.settle()
    assert [name for _, name in events.brief] == names


async def test_lists_at_any_version_may_be_stale() -> None:
    """A real cache may lag; a list of the newest version never does."""
    api = Api()
    await api.define()
    await api.send("POST", BOATS, boat("a"))
    await api.send("POST", BOATS, boat("b"))
    api.server.faults.stale = 1
    stale = await api.ask("GET", f"{BOATS}?resourceVersion=0")
    fresh = await api.ask("GET", BOATS)
    assert [item["metadata"]["name"] for item in stale["items"]] == ["a"]
    assert [item["metadata"]["name"] for item in fresh["items"]] == ["a", "b"]


async def test_requests_are_recorded_on_demand() -> None:
    """A test can check what a client really sent."""
    api = Api()
    await api.define()
    api.server.faults.is_logging = True
    await api.send("GET", BOATS, user_agent="me/1")
    (asked,) = api.server.faults.log
    assert (asked.method, asked.target, asked.user_agent) == ("GET", BOATS, "me/1")


async def test_a_snapshot_restores_everything() -> None:
    """Tests share one prepared server: objects, CRDs and versions are as they were."""
    api = Api()
    empty = api.server.snapshot()
    await api.define()
    await api.send("POST", BOATS, boat("a"))
    full = api.server.snapshot()
    api.server.restore(empty)
    assert (await api.send("GET", BOATS)).status == 404
    api.server.restore(full)
    assert (await api.send("GET", f"{BOATS}/a")).status == 200
    assert (await api.send("POST", BOATS, boat("b"))).status == 201
    api.server.restore(full)
    assert (await api.send("GET", f"{BOATS}/b")).status == 404
