"""Stopping by signal."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from steersman.manager.process.signals import IMPATIENT, stop_on_signals
from tests.support.peer import until


@pytest.fixture(autouse=True)
def hangup() -> Iterator[None]:
    """Restore the default handling of SIGHUP, whatever this process was started with."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


async def set_soon(stop: asyncio.Event) -> None:
    """Wait until the signal thread has notified the event loop."""
    async with asyncio.timeout(10.0):
        await stop.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_the_first_signal_requests_a_stop(number: signal.Signals) -> None:
    """Tasks that wait for the event stop in order."""
    async with stop_on_signals() as stop:
        assert not stop.is_set()
        signal.raise_signal(number)
        await set_soon(stop)


async def test_the_second_signal_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files are removed first."""
    happened: list[object] = []
    monkeypatch.setattr(os, "_exit", happened.append)
    async with stop_on_signals(at_once=lambda: happened.append("cleaned")) as stop:
        signal.raise_signal(signal.SIGINT)
        await set_soon(stop)
        signal.raise_signal(signal.SIGTERM)
        await until(lambda: len(happened) == 2)
    assert happened == ["cleaned", IMPATIENT]


async def test_a_closed_terminal_sends_two_signals_and_still_stops_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal sends one, and so does its shell; the third signal shows that the second was read."""
    ended: list[object] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    async with stop_on_signals() as stop:
        signal.raise_signal(signal.SIGHUP)
        await set_soon(stop)
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        await until(lambda: ended)
    assert ended == [IMPATIENT]


async def test_a_process_started_with_nohup_outlives_its_terminal() -> None:
    """SIGHUP stays ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    async with stop_on_signals() as stop:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        await set_soon(stop)


async def test_other_signal_handlers_still_run() -> None:
    """An author's own handler works beside ours, whether it was registered before or after."""
    heard: list[str] = []
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, lambda: heard.append("before"))
    try:
        async with stop_on_signals() as stop:
            signal.raise_signal(signal.SIGUSR1)
            await until(lambda: heard == ["before"])
            loop.add_signal_handler(signal.SIGUSR2, lambda: heard.append("after"))
            signal.raise_signal(signal.SIGUSR2)
            await until(lambda: heard == ["before", "after"])
            signal.raise_signal(signal.SIGTERM)
            await set_soon(stop)
    finally:
        loop.remove_signal_handler(signal.SIGUSR1)
        loop.remove_signal_handler(signal.SIGUSR2)


async def test_handlers_and_threads_are_restored_afterwards() -> None:
    """A program continues after the block with its own handlers, and without another thread."""
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    threads = threading.active_count()
    async with stop_on_signals():
        assert threading.active_count() == threads + 1
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)] == handlers
    assert threading.active_count() == threads
