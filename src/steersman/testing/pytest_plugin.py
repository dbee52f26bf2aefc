"""The pytest plugin: a fresh ``cluster`` for each test, a ``fake_clock``, and ``async def`` tests without further help.

A test that asks for both ``cluster`` and ``fake_clock`` moves the cluster's time itself.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from steersman.testing.cluster import Cluster
    from steersman.testing.fake_clock import FakeClock

# pytest loads this wherever Steersman is installed: the server and all that it needs are imported on first use.


@pytest.fixture
def fake_clock() -> "FakeClock":
    """Give a clock that stands still until the test moves it."""
    from steersman.testing.fake_clock import FakeClock  # noqa: PLC0415 - see above

    return FakeClock()


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> "Cluster":
    """Give a cluster of the test's own: an API server in this process, a client, and a way to run operators."""
    from steersman.testing.cluster import Cluster  # noqa: PLC0415 - see above

    wants_fake = "fake_clock" in request.fixturenames
    return Cluster(clock=request.getfixturevalue("fake_clock") if wants_fake else None, seed=0)


@pytest.hookimpl
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test on an event loop of its own; fail it if it leaves tasks behind."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    # As pytest does it: the signature would evaluate the annotations, which need not exist at run time.
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}  # noqa: SLF001 - see above
    asyncio.run(_without_leaks(pyfuncitem.obj, arguments))
    return True


async def _without_leaks(test: Callable[..., Awaitable[None]], arguments: dict[str, Any]) -> None:
    await test(**arguments)
    left = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if left:
        pytest.fail(f"the test left tasks behind: {left}")
