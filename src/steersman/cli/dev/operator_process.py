"""The operator's process as seen from outside: started, listened to, and ended with everything that it started."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from steersman.cli.dev.child import GRACE, WEB_VIEW, Orders
from steersman.cli.dev.reports import Failed, Lines, Printed, Report, report_of
from steersman.clock import Clock
from steersman.concurrency import background, cleanup

#: Seconds that the process gets to end before it is killed.
_PATIENCE = GRACE + 1.0
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How the operator is started."""

    #: The project's folder.
    root: Path
    #: ``module:name`` of the operator.
    target: str
    kubeconfig: Path
    verbose: bool = False
    #: Port and token of the web view. They travel in the environment: arguments can be read by every user.
    web_view: tuple[int, str] | None = None


@asynccontextmanager
async def operator_process(
    start: Start, tell: Callable[[Report], None], clock: Clock, *, served: asyncio.Event
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run an operator in a separate process inside the block; pass its reports on as they come.

    It is loaded at once, and starts when the API is ``served``, so that both take their time together. If it ends by
    itself that is reported too, and the block goes on. At the end of the block it is asked to stop, killed if it does
    not, and nothing that it started survives it.
    """
    reports, told = os.pipe()
    lifeline, held = os.pipe()
    orders = Orders(
        target=start.target, kubeconfig=str(start.kubeconfig), reports=told, lifeline=lifeline, verbose=start.verbose
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "steersman.cli.dev.child", orders.argument()),
            cwd=start.root,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **_web_view(start)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=(told, lifeline),
            start_new_session=True,  # only the parent process handles Ctrl-C
        )
    finally:
        os.close(told)
        os.close(lifeline)
    try:
        following = _Following(process, reports, tell, clock)
        async with (
            background(following.run(), name="operator"),
            background(_let_begin(held, served), name="operator/begin"),
        ):
            try:
                yield process
            finally:
                following.is_expected_to_end = True
                await cleanup(_stop(process, clock), clock=clock, within=2 * _PATIENCE)
    finally:
        os.close(held)


def _web_view(start: Start) -> dict[str, str]:
    return {} if start.web_view is None else {WEB_VIEW: f"{start.web_view[0]}:{start.web_view[1]}"}


async def _let_begin(lifeline: int, served: asyncio.Event) -> None:
    await served.wait()
    with suppress(BrokenPipeError):  # it has ended already
        os.write(lifeline, b"\n")


async def _stop(process: asyncio.subprocess.Process, clock: Clock) -> None:
    """Ask the process to stop, wait, kill it; then end the processes that it left."""
    if process.returncode is None:
        process.terminate()
        with suppress(TimeoutError):
            async with clock.timeout(_PATIENCE):
                await process.wait()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


class _Following:
    """Reads the output of a process until it has ended, and reports an unexpected end."""

    def __init__(
        self, process: asyncio.subprocess.Process, reports: int, tell: Callable[[Report], None], clock: Clock
    ) -> None:
        self._process = process
        self._reports = reports
        self._tell = tell
        self._clock = clock
        #: Whether its end needs no report: it was asked to, or has reported the reason itself.
        self.is_expected_to_end = False

    async def run(self) -> None:
        """Read the output until its end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._hear_reports(), name="operator/reports")
            tasks.create_task(self._hear_output(), name="operator/output")
        code = await self._process.wait()
        if not self.is_expected_to_end:
            ended = "ended by itself" if code == 0 else f"ended with {_named(code)}"
            self._tell(Failed(self._now(), f"the operator's process {ended}"))

    async def _hear_reports(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._reports, "rb", buffering=0)
        )
        try:
            async for line in _lines(reader):
                if (report := report_of(line)) is not None:
                    self.is_expected_to_end |= isinstance(report, Failed)
                    self._tell(report)
        finally:
            transport.close()

    async def _hear_output(self) -> None:
        output = self._process.stdout
        if output is not None:
            async for line in _lines(output):
                self._tell(Printed(self._now(), line.decode(errors="replace").rstrip("\r")))

    def _now(self) -> float:
        return self._clock.now().timestamp()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    lines = Lines()
    while data := await reader.read(_CHUNK):
        for line in lines.feed(data):
            yield line
    for line in lines.end():
        yield line


def _named(code: int) -> str:
    """Return how a process ended, as text."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
