"""The live screen: drawn on the terminal's alternate page, so that the first page is restored when it ends."""

import asyncio
import os
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from steersman.cli.dev.reports import Report
from steersman.cli.dev.view.controls import keys_of
from steersman.cli.dev.view.screen import Screen


class LiveView:
    """Draws the board whenever it is asked to."""

    def __init__(
        self, console: Console, draw: Callable[[], Screen], farewell: Callable[[], str], on_key: Callable[[str], None]
    ) -> None:
        self._live = Live(
            console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._draw = draw
        self._farewell = farewell
        self._keyboard = _Keyboard(on_key)

    def open(self) -> None:
        """Switch to the alternate page."""
        self._keyboard.open()
        self._live.start()
        self.refresh()

    def take(self, report: Report) -> None:
        """Do nothing: the report is visible in the next drawing."""

    def refresh(self) -> None:
        """Draw the screen."""
        if self._live.is_started:
            self._live.update(self._draw(), refresh=True)

    def close(self) -> None:
        """Return the terminal back, with a last word that stays."""
        if self._live.is_started:
            with suppress(OSError):  # the terminal may be gone
                self._live.stop()
                self._keyboard.restore()
                click.echo(self._farewell())


class _Keyboard:
    """Passes keys on one by one, without echoing them over the screen. Ctrl-C stays a signal."""

    def __init__(self, on_key: Callable[[str], None]) -> None:
        self._on_key = on_key
        self._before: list[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """Read keys from now on, if there is a terminal."""
        with suppress(termios.error, ValueError, OSError):
            descriptor = sys.stdin.fileno()
            before = termios.tcgetattr(descriptor)
            raw = [*before]
            raw[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(descriptor, termios.TCSADRAIN, raw)
            self._before = before
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(sys.stdin.fileno(), 1024)
        except OSError:
            data = b""
        if not data:  # the terminal is gone
            self._stop_reading()
        for key in keys_of(data):
            self._on_key(key)

    def _stop_reading(self) -> None:
        if self._loop is not None:
            with suppress(OSError, ValueError, RuntimeError):
                self._loop.remove_reader(sys.stdin.fileno())
            self._loop = None

    def restore(self) -> None:
        """Read no more keys, and restore the echo."""
        self._stop_reading()
        if self._before is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)
            self._before = None
