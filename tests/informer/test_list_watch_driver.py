"""The driver of the list/watch machine: what a replica receives, in which order, and what a cancellation loses."""

import asyncio

from msgspec import Raw

from steersman.errors import SteersmanError
from steersman.informer.list_watch_driver import ApiConnection, ListWatchDriver, ObjectEvent, Source
from steersman.objects.codec import decode_json
from steersman.protocol.list_watch import ListWatchSettings
from steersman.protocol.requests import Requests
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport
from tests.informer.scripted import ScriptedServer, status
from tests.informer.test_informer import WIDGETS


class Recorder:
    """A replica that records its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def begin(self) -> None:
        """Record the call."""
        self.calls.append("begin")

    def keep(self, items: list[Raw]) -> None:
        """Record the names of a page."""
        self.calls.append(f"keep {' '.join(_name(item) for item in items)}".strip())

    def apply(self, events: list[ObjectEvent], *, initial: bool) -> str:
        """Record the names of a batch."""
        self.calls.append(f"{'initial' if initial else 'apply'} {' '.join(_name(event.object) for event in events)}")
        return str(decode_json(bytes(events[-1].object))["metadata"]["resourceVersion"])

    def commit(self) -> None:
        """Record the call."""
        self.calls.append("commit")

    def report(self, error: SteersmanError) -> None:
        """Record the error."""
        self.calls.append(f"report {type(error).__name__}")

    def heard(self) -> None:
        """Ignore the call, since it is irrelevant for the order."""


def _name(raw: Raw) -> str:
    return str(decode_json(bytes(raw))["metadata"]["name"])


def start(server: ScriptedServer, clock: FakeClock, *, watch_list: bool = True) -> tuple[ListWatchDriver, Recorder]:
    """Return a driver of the server's widgets, and its replica."""
    replica = Recorder()
    source = Source(Requests(WIDGETS), ListWatchSettings(watch_list=watch_list))
    connection = ApiConnection(InMemoryTransport(server, clock=clock), clock, Randomness(1))
    return ListWatchDriver(source, replica, connection), replica


async def test_a_streamed_state_is_complete_before_it_is_committed() -> None:
    """Objects that arrive before the bookmark belong to the new state, everything after it is a change."""
    server = ScriptedServer()
    server.put("a")
    server.put("b")
    driver, replica = start(server, FakeClock())
    while "commit" not in replica.calls:
        await driver.advance()
    server.put("a")
    await driver.advance()
    await driver.close()
    assert replica.calls[0] == "begin"
    assert " ".join(replica.calls[1:-2]).replace("initial ", "") == "a b"
    assert replica.calls[-2:] == ["commit", "apply a"]


async def test_a_listed_state_is_stored_page_by_page_and_then_watched() -> None:
    """A server without WatchList gets the same replica."""
    server = ScriptedServer()
    server.put("a")
    driver, replica = start(server, FakeClock(), watch_list=False)
    await driver.advance()
    assert replica.calls == ["begin", "keep a", "commit"]
    assert server.log == ["list@"]
    await driver.close()


async def test_cancelling_a_step_loses_no_event() -> None:
    """A caller may read with a timeout: the stream stays open, and the next step continues on it."""
    server, clock = ScriptedServer(), FakeClock()
    driver, replica = start(server, clock)
    while "commit" not in replica.calls:
        await driver.advance()
    async with asyncio.TaskGroup() as tasks:
        step = tasks.create_task(driver.advance())
        await clock.settle()
        step.cancel()
    server.put("a")
    await driver.advance()
    assert replica.calls[-1] == "apply a"
    assert len(server.log) == 1
    await driver.close()
    assert server.streams == []


async def test_a_failure_is_reported_and_retried_after_a_delay_or_a_nudge() -> None:
    """The kind may be served by now: then the rest of the back-off only delays."""
    server = ScriptedServer(failures=[(404, status(404, "NotFound"))] * 2)
    clock = FakeClock()
    driver, replica = start(server, clock)
    await driver.advance()
    await driver.advance()
    assert replica.calls[-1] == "report NotFound"
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(driver.advance())
        await clock.settle()
        assert not waiting.done()
        driver.nudge()
    await driver.advance()
    assert replica.calls[-1] == "commit"
    await driver.close()
