"""Stopping by signal."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from steersman.manager.signals import IMPATIENT, stop_on_signals


@pytest.fixture(autouse=True)
def hangup() -> Iterator[None]:
    """Let a closed terminal mean what it usually means, whatever this process was started with."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


async def turn() -> None:
    """Let the event loop see a signal."""
    turned = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.01, turned.set_result, None)
    await turned


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_the_first_signal_asks(number: signal.Signals) -> None:
    """Whoever waits for the event stops in order."""
    async with stop_on_signals() as stop:
        assert not stop.is_set()
        signal.raise_signal(number)
        await turn()
        assert stop.is_set()


async def test_the_second_signal_does_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """What must not be left behind is removed, then the process ends."""
    happened: list[object] = []
    monkeypatch.setattr(os, "_exit", happened.append)
    async with stop_on_signals(at_once=lambda: happened.append("cleaned")):
        signal.raise_signal(signal.SIGINT)
        await turn()
        signal.raise_signal(signal.SIGTERM)
        await turn()
    assert happened == ["cleaned", IMPATIENT]


async def test_a_closed_terminal_is_told_twice_and_nobody_is_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal says so, and its shell does too."""
    ended: list[object] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    async with stop_on_signals() as stop:
        for _ in range(2):
            signal.raise_signal(signal.SIGHUP)
            await turn()
        assert stop.is_set()
    assert ended == []


async def test_what_was_started_to_outlive_its_terminal_does() -> None:
    """As nohup promises."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    async with stop_on_signals() as stop:
        signal.raise_signal(signal.SIGHUP)
        await turn()
        assert not stop.is_set()
