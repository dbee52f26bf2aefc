"""Workers survive whatever an author's code does to their task; only the end of the operator ends them.

A worker cannot distinguish a cancellation that an author caused from the one that stops it: both are the same
exception. So each test has a cancellation, or another end, that the operator did not request.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from steersman.controller.context import Context
from steersman.controller.recording.run_trace import RunTrace
from steersman.controller.run.attempt import Attempt
from steersman.controller.run.run_record import RunRecord
from steersman.history.redaction import SecretMemory
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.controller.stage import OPTIONS, Ctx, clock_of, create, resize, running
from tests.support.widgets import Widget, WidgetSpec


class AuthorsError(BaseException):
    """A `BaseException` that is not an `Exception`, as some libraries raise."""


class UnprintableError(Exception):
    """An error whose text cannot be computed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class UnprintableBaseError(BaseException):
    """An error whose text raises a `BaseException`."""

    def __str__(self) -> str:
        raise UnprintableBaseError


def current() -> asyncio.Task[object]:
    """Return the task that runs the author's code."""
    task = asyncio.current_task()
    assert task is not None
    return task


async def cancel_and_wait() -> None:
    """Cancel the current task and wait for the cancellation."""
    current().cancel()
    await asyncio.get_running_loop().create_future()


async def cancel_and_return() -> None:
    """Leave a cancellation behind that has not been delivered."""
    current().cancel()


async def cancel_twice_and_swallow() -> None:
    """Swallow a cancellation without resetting the counter."""
    current().cancel()
    current().cancel()
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        return


async def cancel_soon() -> None:
    """Schedule a cancellation of the task that comes long after this run."""
    asyncio.get_running_loop().call_soon(current().cancel)


async def cancel_later() -> None:
    """Schedule a cancellation of the task while the worker waits for the next object."""
    task = current()
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: loop.call_soon(lambda: loop.call_soon(task.cancel)))


async def leave_a_timeout_open() -> None:
    """Enter a timeout and never leave it."""
    await asyncio.timeout(0.0).__aenter__()


async def leave_a_task_group_open() -> None:
    """Enter a group whose task fails after the run, which cancels the task that entered it."""

    async def fail() -> None:
        raise RuntimeError("no task waits for this")

    group = asyncio.TaskGroup()
    await group.__aenter__()
    group.create_task(fail())


async def uncancel_often() -> None:
    """Undo cancellations that never happened."""
    for _ in range(10):
        current().uncancel()


def raising(error: BaseException) -> Callable[[], Awaitable[None]]:
    """Return a coroutine function that raises."""

    async def fail() -> None:
        raise error

    return fail


MISDEEDS = [
    cancel_and_wait,
    cancel_and_return,
    cancel_twice_and_swallow,
    cancel_soon,
    cancel_later,
    leave_a_timeout_open,
    leave_a_task_group_open,
    uncancel_often,
    raising(asyncio.CancelledError()),
    raising(GeneratorExit()),
    raising(KeyboardInterrupt()),
    raising(SystemExit(3)),
    raising(AuthorsError("mine")),
    raising(BaseExceptionGroup("many", [AuthorsError("mine"), asyncio.CancelledError()])),
    raising(UnprintableError()),
    raising(UnprintableBaseError()),
    raising(StopIteration()),
]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("misdeed", MISDEEDS, ids=lambda misdeed: misdeed.__qualname__)
@pytest.mark.parametrize("limit", [None, 3600.0])
async def test_a_worker_survives_any_code_of_an_author(
    misdeed: Callable[[], Awaitable[None]], limit: float | None
) -> None:
    """If the only worker ended, no object would be reconciled any more, without any message."""
    operator = Operator("surviving")
    good: list[int] = []
    bad = 0

    @operator.reconciler(Widget, timeout=limit)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        nonlocal bad
        if widget.name == "bad" and not bad:
            bad += 1
            await misdeed()
            return
        good.append(widget.spec.size)
        widget.status.size = widget.spec.size

    async with (
        Cluster.start(clock=FakeClock(), seed=1) as cluster,
        cluster.running(operator, options=OPTIONS, expect_failures=BaseException) as manager,
    ):
        await create(cluster, "bad", size=1)
        await clock_of(cluster).advance(5.0)
        for size in (2, 3):
            await create(cluster, f"good-{size}", size=size)
            await clock_of(cluster).advance(5.0)
            await cluster.settle()
        await resize(cluster, 4, "bad")
        await clock_of(cluster).advance(5.0)
        await cluster.settle()
        assert {2, 3, 4} <= set(good)
        assert [widget.status.size for widget in cluster.list(Widget)] == [4, 2, 3]
        assert manager.readiness.failing() == {}
        assert current().cancelling() == 0


async def test_a_cleanup_and_an_error_handler_may_do_the_same() -> None:
    """They are called in the same task."""
    operator = Operator("everywhere")
    runs: list[str] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)
        if len(runs) == 1:
            raise AuthorsError("first")

    @reconcile.cleanup
    async def cleanup(_: Widget, __: Ctx) -> None:
        runs.append("cleanup")
        if runs.count("cleanup") < 3:
            await cancel_and_wait()

    @reconcile.on_error
    async def on_error(_: Widget, __: Ctx, error: BaseException) -> None:
        runs.append(type(error).__name__)
        current().cancel()

    async with running(operator, expect_failures=BaseException) as cluster:
        widget = await create(cluster)
        await clock_of(cluster).advance(1.0)
        await cluster.client.delete(widget)
        await cluster.settle()
        await clock_of(cluster).advance(1.0)
        assert cluster.list(Widget) == []
        assert runs.count("cleanup") == 3
        assert runs.count("AuthorsError") == 1


async def test_a_stray_cancellation_does_not_start_a_second_run_of_an_object() -> None:
    """A thread continues whatever happens to the task that waits for it."""
    operator = Operator("threads")
    gate, at_work = threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    working, most = 0, 0

    @operator.reconciler(Widget, workers=2)
    def reconcile(_: Widget, ctx: Context[Widget]) -> None:
        nonlocal working, most
        working += 1
        most = max(most, working)
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            if task.get_name().startswith("worker/"):
                loop.call_soon_threadsafe(task.cancel)
        at_work.set()
        gate.wait(5.0)
        working -= 1
        ctx.event("Done", "once")

    async with Cluster.start() as cluster, cluster.running(operator, options=OPTIONS, expect_failures=BaseException):
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec(size=1)))
        await cluster.eventually(at_work.is_set)
        await cluster.client.patch(widget, {"spec": {"size": 2}})
        await cluster.eventually(lambda: working == 1)
        gate.set()
        await cluster.settle()
        assert most == 1


async def test_a_run_whose_coroutine_is_closed_ends_quietly() -> None:
    """An event loop that is shut down closes remaining coroutines: the run must not await anything then."""
    operator = Operator("closed")
    errors: list[BaseException] = []

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None:
        await asyncio.get_running_loop().create_future()

    @reconcile.on_error
    async def on_error(_: Widget, __: Ctx, error: BaseException) -> None:
        errors.append(error)

    async def begin() -> None:
        run.send(None)

    clock = FakeClock()
    async with Cluster.start(clock=clock, seed=1) as cluster, asyncio.TaskGroup() as tasks:
        options = SimpleNamespace(client=cluster.client, clock=clock)
        environment: Any = SimpleNamespace(options=options, caches=None)
        widget = Widget(meta("a", "default", uid="u"), WidgetSpec())
        record = RunRecord(widget, environment.caches, lambda *_, **__: None, SecretMemory(), RunTrace.begin(clock))
        ctx = Context(record, environment, why=(), fields={})
        run = Attempt(operator.reconcilers[0], record, ctx, clock).run()
        await tasks.create_task(begin())
        run.close()
        assert errors == []


async def test_a_real_stop_is_prompt_even_if_the_reconciler_swallows_it() -> None:
    """A requested cancellation is never undone: the worker ends after the run, and writes nothing more."""
    operator = Operator("stopping")
    runs = 0

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        nonlocal runs
        runs += 1
        widget.status.size = 99
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            current().uncancel()

    clock = FakeClock()
    async with Cluster.start(clock=clock, seed=1) as cluster:
        async with cluster.running(operator, options=OPTIONS, expect_failures=BaseException):
            await cluster.client.create(Widget(meta("a"), WidgetSpec(size=1)))
            await clock.settle()
            assert runs == 1
        assert runs == 1
        assert cluster.list(Widget)[0].status.size == 0


async def test_a_worker_that_fails_by_itself_is_replaced_and_reported(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug in the framework must neither stop all objects of a kind nor stay hidden: it is not ready meanwhile."""
    operator = Operator("broken")
    seen: list[str] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        seen.append(widget.name)

    async with (
        Cluster.start(clock=FakeClock(), seed=1) as cluster,
        cluster.running(operator, options=OPTIONS, expect_failures=BaseException) as manager,
    ):
        (controller,) = manager.controllers
        get = controller.queue.get
        failures = 0

        async def failing() -> object:
            nonlocal failures
            failures += 1
            if failures == 1:
                raise MemoryError("out of memory")
            return await get()

        monkeypatch.setattr(controller.queue, "get", failing)
        with caplog.at_level(logging.ERROR):
            await create(cluster, "a")
        assert "MemoryError: out of memory" in manager.readiness.failing()["workers/widget"]
        assert any("replaced" in line.message for line in caplog.records)
        await clock_of(cluster).advance(2.0)
        await create(cluster, "b")
        assert seen == ["a", "b"]
        assert manager.readiness.failing() == {}


async def test_a_mapping_that_raises_anything_does_not_stop_later_changes() -> None:
    """It runs where changes are delivered, for all objects."""
    from steersman.controller.triggers import Watch  # noqa: PLC0415 - beside its only use
    from steersman.kinds.core_v1 import ConfigMap  # noqa: PLC0415 - same

    operator = Operator("mapping")
    runs: list[str] = []

    def widget_of(config: ConfigMap) -> list[str]:
        if config.name == "bad":
            raise AuthorsError("no")
        return ["default/a"]

    @operator.reconciler(Widget, watches=[Watch(ConfigMap, to=widget_of)])
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)

    async with running(operator, expect_failures=BaseException) as cluster:
        await create(cluster)
        await cluster.client.create(ConfigMap(meta("bad")))
        await cluster.client.create(ConfigMap(meta("good")))
        await cluster.settle()
        assert runs == ["a", "a"]
