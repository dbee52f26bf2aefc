"""`PagePlans`: plans for the web view, each made by `steer plan` in a process of its own.

A plan calls the author's functions. In the operator's own process they would share its global variables, its memory and
its event loop, on which the leader's lease is renewed; a process of its own shares nothing, and has the code as it is
saved now. One plan is made at a time: each costs as much CPU and memory as the operator needs to start.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from steersman.clock import Clock
from steersman.concurrency import cleanup
from steersman.errors import ConfigError
from steersman.webview.plans import PlanRequest

#: Seconds that a plan may take, and a killed process to end.
TIMEOUT, _END_TIMEOUT = 120.0, 5.0
#: Characters of an error that are shown.
_SHOWN: Final = 2000


class PagePlans:
    """Makes plans with the arguments of `steer plan` that name operators and cluster; a `Plans`."""

    def __init__(self, arguments: Callable[[], Sequence[str]], clock: Clock, *, folder: Path | None = None) -> None:
        #: Called for each plan: the address of an embedded cluster is not known before it has started.
        self._arguments = arguments
        self._clock = clock
        self._folder = folder
        self._is_busy = False

    async def plan(self, wanted: PlanRequest) -> bytes:
        """Return a plan as a JSON document; raise ``ConfigError`` with what the command says if there is none."""
        if self._is_busy:
            raise ConfigError("another plan is being made: wait until it is done")
        self._is_busy = True
        try:
            output, errors = await self._run(wanted)
        finally:
            self._is_busy = False
        if not output.startswith(b"{"):
            reason = errors.decode(errors="replace").strip().removeprefix("steer: ")
            raise ConfigError(reason[-_SHOWN:] or "the plan ended without a result")
        return output

    async def _run(self, wanted: PlanRequest) -> tuple[bytes, bytes]:
        command = [sys.executable, "-m", "steersman.cli", "plan", *self._arguments(), "--output", "json"]
        command += ["--resume"] if wanted.resume else []
        command += ["--filename", "-"] if wanted.text else []
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self._folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with self._clock.timeout(TIMEOUT):
                return await process.communicate(wanted.text.encode())
        except TimeoutError:
            raise ConfigError(f"the plan is not done after {TIMEOUT:g} s: use steer plan with --limit") from None
        finally:
            await self._end(process)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """End the process and what it started, also if the person did not wait."""
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await cleanup(process.wait(), clock=self._clock, within=_END_TIMEOUT)
