"""What a user can do from the web view of `steer dev`, on a real API server in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from steersman import Context, Model, Operator, Resource, Retry, Status, custom_resource, meta
from steersman.cli.dev.injected_faults import FAULTS, InjectedFaults
from steersman.cli.dev.movable_clock import MovableClock
from steersman.cli.dev.page_actions import PageActions
from steersman.concurrency import background
from steersman.controller.run.pause import PAUSED
from steersman.errors import ConfigError, NotFound, Permanent, SteersmanError
from steersman.history.records import ObjectName, Result
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.manager.manager import Manager, ManagerOptions
from steersman.testing import Cluster, FakeClock
from steersman.transport.in_memory import InMemoryTransport
from steersman.webview.actions import (
    ACTION_NAMES,
    Apply,
    Delete,
    InjectFault,
    MoveClock,
    Pause,
    ReconcileNow,
    Resume,
)


class ShelfSpec(Model):
    """Its size, and whether it can be used."""

    size: int = 1
    broken: bool = False


@custom_resource("page.example.com/v1")
class Shelf(Resource[ShelfSpec, Status]):
    """A shelf."""


A = ObjectName("Shelf", "default", "a", "page.example.com")
operator = Operator("shelves")


@operator.reconciler(Shelf, owns=[ConfigMap])
async def reconcile(shelf: Shelf, ctx: Context[Shelf]) -> None:
    """Write the size into a ConfigMap."""
    if shelf.spec.broken:
        raise Permanent("Broken", "it is broken")
    if shelf.spec.size > 100:
        raise Retry("too large", after=3600)
    await ctx.apply(ConfigMap(meta(shelf.name), data={"size": str(shelf.spec.size)}))


class Page:
    """The actions of a page, and the operator behind it."""

    def __init__(self, cluster: Cluster, manager: Manager, actions: PageActions) -> None:
        self.cluster = cluster
        self.manager = manager
        self.actions = actions

    def runs(self) -> int:
        """Return how often the object was reconciled."""
        last = self.manager.history.last(A)
        return 0 if last is None else last.number


@asynccontextmanager
async def page() -> AsyncIterator[Page]:
    """Run the operator as `steer dev` does: on a clock that can be moved, behind faults that can be injected."""
    clock = FakeClock()
    async with Cluster.start(clock=clock) as cluster:
        await cluster.install(Shelf)
        moved, faults = MovableClock(clock), InjectedFaults(clock)
        transport = faults.around(InMemoryTransport(cluster.server, clock=clock))
        manager = Manager([operator], transport, ManagerOptions(), clock=moved)
        actions = PageActions(cluster.client, manager.reconcile_now, faults, moved, clock)
        async with background(manager.run(), name="manager"), settling(cluster, manager):
            yield Page(cluster, manager, actions)
        await transport.close()


@asynccontextmanager
async def settling(cluster: Cluster, manager: Manager) -> AsyncIterator[None]:
    """Make `settle` wait for the manager."""
    await cluster.drive(manager.wait_ready())
    with cluster.waiting_for(manager):
        yield


SHELF = "apiVersion: page.example.com/v1\nkind: Shelf\nmetadata:\n  name: a\nspec:\n  size: 3\n"


async def test_an_object_is_created_edited_and_deleted() -> None:
    """The whole life of an object, from the page."""
    async with page() as at:
        assert at.actions.offered == ACTION_NAMES
        assert await at.actions.check(SHELF) == ()
        assert at.cluster.list(Shelf) == []
        assert await at.actions.perform(Apply(SHELF)) == "Shelf default/a is applied."
        await at.cluster.settle()
        assert at.cluster.list(ConfigMap, namespace="default")[0].data == {"size": "3"}
        text = await at.actions.document(A)
        assert text is not None
        assert "managedFields" not in text
        edited = text.replace("size: 3", "size: 4")
        assert await at.actions.perform(Apply(edited)) == "Shelf default/a is applied."
        with pytest.raises(SteersmanError, match="the object has been modified"):
            await at.actions.perform(Apply(text))
        without = "\n".join(line for line in (await at.actions.document(A) or "").splitlines() if "size" not in line)
        await at.actions.perform(Apply(without))
        await at.cluster.settle()
        assert at.cluster.list(Shelf)[0].spec.size == 1
        assert await at.actions.perform(Delete(A)) == "Shelf default/a is being deleted."
        await at.cluster.settle()
        assert at.cluster.list(Shelf) == []
        assert await at.actions.document(A) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the text has no object"),
        ("a: [", "line 2: "),
        ("kind: Shelf\n", "apiVersion"),
        (SHELF.replace("size: 3", "size: much"), "spec.size: Invalid value"),
        (SHELF.replace("size", "sise"), 'unknown field "spec.sise"'),
        (SHELF.replace("Shelf", "Unknown"), "Unknown"),
        ("apiVersion: page.example.com/v1\nkind: Shelf\nmetadata: 5\n", "metadata: 5 is not an object"),
        ("apiVersion: page.example.com/v1\nkind: Shelf\nmetadata: [a]\n", "metadata: ['a'] is not an object"),
        (SHELF.replace("name: a", "name: A/B"), "metadata.name: 'A/B' cannot be part of a URL path"),
        (SHELF.replace("name: a", "name: a\n  namespace: nowhere"), 'namespaces "nowhere" not found'),
    ],
)
async def test_errors_of_the_server_are_shown_unchanged(text: str, problem: str) -> None:
    """A form with its own validation would be wrong in some cases."""
    async with page() as at:
        problems = await at.actions.check(text)
        assert problem in " ".join(problems), problems
        with pytest.raises(SteersmanError):
            await at.actions.perform(Apply(text))
        assert at.cluster.list(Shelf) == []


async def test_a_run_is_requested_though_the_last_one_gave_up() -> None:
    """A user who asks for it knows something that the operator does not."""
    async with page() as at:
        await at.cluster.client.create(Shelf(meta("a", namespace="default"), ShelfSpec(broken=True)))
        await at.cluster.settle()
        before = at.runs()
        assert await at.actions.perform(ReconcileNow(A)) == "Shelf default/a is reconciled now."
        await at.cluster.settle()
        assert at.runs() == before + 1
        with pytest.raises(ConfigError, match="Shelf default/b does not exist, or the operator does not reconcile it"):
            await at.actions.perform(ReconcileNow(A._replace(name="b")))


async def test_an_object_is_paused_and_resumed() -> None:
    """By the annotation, like the command."""
    async with page() as at:
        shelf = await at.cluster.client.create(Shelf(meta("a", namespace="default")))
        assert await at.actions.perform(Pause(A)) == "Shelf default/a is paused."
        assert (await at.cluster.client.get(Shelf, "a")).metadata.annotations[PAUSED] == "true"
        assert (await at.actions.perform(Pause(A, 60))).startswith("Shelf default/a is paused until 20")
        assert await at.actions.perform(Resume(A)) == "Shelf default/a is reconciled again."
        assert PAUSED not in (await at.cluster.client.get(Shelf, shelf.name)).metadata.annotations
        for seconds in (0, -1, 1e300):
            with pytest.raises(ConfigError, match="cannot be paused for"):
                await at.actions.perform(Pause(A, seconds))
        with pytest.raises(NotFound):
            await at.actions.perform(Pause(A._replace(name="b")))


async def test_a_timer_of_the_operator_ends_when_its_clock_is_advanced() -> None:
    """A user sees now what happens in an hour."""
    async with page() as at:
        await at.cluster.client.create(Shelf(meta("a", namespace="default"), ShelfSpec(size=101)))
        await at.cluster.settle()
        assert at.runs() == 1
        said = await at.actions.perform(MoveClock(3600))
        assert said == "The operator's clock was moved by 1 h; it is 1 h ahead now."
        await at.cluster.eventually(lambda: at.runs() == 2)
        for seconds in (0, -5, 1e12):
            with pytest.raises(ConfigError, match="the clock cannot be moved by"):
                await at.actions.perform(MoveClock(seconds))


@pytest.mark.parametrize("fault", ["forbidden", "internal-error", "request-lost", "response-lost"])
async def test_a_fault_affects_one_write_of_the_operator_only(fault: str) -> None:
    """The writes of the page, of kubectl and of the cluster's controllers are not the operator's."""
    async with page() as at:
        said = await at.actions.perform(InjectFault(fault))
        assert said == f"The fault {fault} strikes with the next write of the operator."
        assert await at.actions.perform(Apply(SHELF)) == "Shelf default/a is applied."
        await at.cluster.settle()
        first = at.manager.history.of(A)[0]
        assert (first.result, "injected from the web view" in first.message) == (Result.FAILED, True)
        await at.cluster.eventually(lambda: at.runs() > 1 and at.manager.history.of(A)[-1].result is Result.DONE)
        assert at.cluster.list(ConfigMap, namespace="default")[0].data == {"size": "3"}


async def test_a_conflict_is_resolved_within_the_run() -> None:
    """``ctx.apply`` reads the object again and repeats the write: the author sees that here."""
    async with page() as at:
        await at.actions.perform(InjectFault("conflict"))
        await at.actions.perform(Apply(SHELF))
        await at.cluster.settle()
        assert [one.result for one in at.manager.history.of(A)][:1] == [Result.DONE]
        assert at.cluster.list(ConfigMap, namespace="default")[0].data == {"size": "3"}


async def test_a_slow_response_and_broken_watches_are_survived() -> None:
    """Neither loses a change."""
    async with page() as at:
        await at.actions.perform(InjectFault("slow-response"))
        await at.actions.perform(Apply(SHELF))
        await at.cluster.eventually(lambda: at.runs() >= 1, within=20)
        assert await at.actions.perform(InjectFault("watch-broken")) == "2 watches of the operator were broken."
        await at.actions.perform(Apply(SHELF.replace("3", "5")))
        await at.cluster.eventually(
            lambda: at.cluster.list(ConfigMap, namespace="default")[0].data == {"size": "5"}, within=60
        )
        with pytest.raises(ConfigError, match="'meteor' is not a fault: choose one of conflict, "):
            await at.actions.perform(InjectFault("meteor"))
        assert len({one.name for one in FAULTS}) == len(FAULTS)


async def test_the_content_of_a_secret_is_not_shown() -> None:
    """The page shows no Secrets, also not for editing."""
    async with page() as at:
        await at.cluster.client.create(Secret(meta("s", namespace="default"), string_data={"a": "canary"}))
        with pytest.raises(ConfigError, match="does not show the content of Secret objects: use kubectl"):
            await at.actions.document(ObjectName("Secret", "default", "s"))
