"""Runs `async def` tests, each on an event loop of its own, and fails a test that leaves tasks behind."""

import asyncio
import inspect
from typing import Any

import pytest


async def _without_leaks(test: Any, arguments: dict[str, Any]) -> None:
    await test(**arguments)
    leaked = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not leaked, f"tasks left behind: {leaked}"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Give every coroutine test a fresh event loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    asyncio.run(_without_leaks(pyfuncitem.obj, {name: pyfuncitem.funcargs[name] for name in wanted}))
    return True
