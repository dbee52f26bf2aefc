"""The pytest plugin: a fresh ``cluster`` for each test, a ``fake_clock``, and support for ``async def`` tests.

A test that uses both ``cluster`` and ``fake_clock`` advances the cluster's time itself. With ``async_test_timeout`` in
pytest's configuration, a coroutine test that hangs for so many seconds fails, and shows where each of its tasks waits.
"""

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from steersman.json_types import JsonObject

if TYPE_CHECKING:
    from steersman.testing.cluster import Cluster
    from steersman.testing.fake_clock import FakeClock

_TIMEOUT = "async_test_timeout"

# pytest loads this wherever Steersman is installed: the server and all that it needs are imported on first use.


@pytest.fixture
def fake_clock() -> "FakeClock":
    """Return a clock that stands still until the test advances it."""
    from steersman.testing.fake_clock import FakeClock  # noqa: PLC0415 - see above

    return FakeClock()


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> "Cluster":
    """Return a cluster for this test: an API server in this process, a client, and a way to run operators."""
    from steersman.testing.cluster import Cluster  # noqa: PLC0415 - see above

    wants_fake = "fake_clock" in request.fixturenames
    return Cluster(clock=request.getfixturevalue("fake_clock") if wants_fake else None, seed=0)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the configuration file."""
    text = "Seconds of real time after which a coroutine test fails with the stacks of its tasks; 0 for no limit."
    parser.addini(_TIMEOUT, text, default="0")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of slow tests."""
    config.addinivalue_line("markers", f"{_TIMEOUT}(seconds): time limit of this coroutine test")


@pytest.hookimpl
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test in its own event loop; fail it if it leaves tasks behind."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    # As pytest does it: the signature would evaluate the annotations, which need not exist at run time.
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}  # noqa: SLF001 - see above
    asyncio.run(_without_leaks(pyfuncitem.obj, arguments, _limit_of(pyfuncitem)))
    return True


def _limit_of(test: pytest.Function) -> float:
    marker = test.get_closest_marker(_TIMEOUT)
    return float(marker.args[0] if marker is not None else test.config.getini(_TIMEOUT))


async def _without_leaks(test: Callable[..., Awaitable[None]], arguments: JsonObject, limit: float) -> None:
    await _within(limit, test(**arguments))
    left = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if left:
        pytest.fail(f"the test left tasks behind: {left}")


async def _within(limit: float, test: Awaitable[None]) -> None:
    """Fail a test that does not end in time, with the stacks of all tasks at that moment."""
    task = asyncio.current_task()
    if not limit or task is None:
        await test
        return
    stacks: list[str] = []

    def end() -> None:
        stacks.extend(_stacks())
        task.cancel()

    timer = asyncio.get_running_loop().call_later(limit, end)
    try:
        await test
    except BaseException as error:
        if not stacks:
            raise
        pytest.fail("\n".join([f"the test did not end within {limit:g} s: {error!r}", *stacks]), pytrace=False)
    finally:
        timer.cancel()


def _stacks() -> Iterator[str]:
    """Yield where each task waits: its coroutine, and what that awaits, down to the innermost."""
    for task in asyncio.all_tasks():
        frames: list[tuple[FrameType, int]] = []
        waiting: object = task.get_coro()
        while inspect.iscoroutine(waiting) and waiting.cr_frame is not None:
            frames.append((waiting.cr_frame, waiting.cr_frame.f_lineno))
            waiting = waiting.cr_await
        yield f"task {task.get_name()}:\n" + "".join(traceback.StackSummary.extract(iter(frames)).format())
