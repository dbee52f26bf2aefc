"""The live screen: drawn on the terminal's alternate page, so that the first page is restored when it ends."""

import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from steersman.cli.dev.reports import Report
from steersman.cli.dev.view.screen import Screen


class LiveView:
    """Draws the board whenever it is asked to."""

    def __init__(self, console: Console, draw: Callable[[], Screen], farewell: Callable[[], str]) -> None:
        self._live = Live(
            console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._draw = draw
        self._farewell = farewell
        self._keyboard = _Keyboard()

    def open(self) -> None:
        """Switch to the alternate page."""
        self._keyboard.hush()
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
    """Keeps keystrokes from being echoed over the screen."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def hush(self) -> None:
        """Stop the echo, if there is a terminal."""
        with suppress(termios.error, ValueError, OSError):
            descriptor = sys.stdin.fileno()
            before = termios.tcgetattr(descriptor)
            hushed = [*before]
            hushed[3] &= ~termios.ECHO
            termios.tcsetattr(descriptor, termios.TCSADRAIN, hushed)
            self._before = before

    def restore(self) -> None:
        """Restore the echo."""
        if self._before is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)
            self._before = None
