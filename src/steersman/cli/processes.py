"""`steer run --processes N`: an operator in several processes of one machine, which share its shards.

The processes are replicas like any others: each has its slot, its shards and its connection. This process only starts
them again if they end, passes signals on, and answers probes and scrapes for all of them. Each one has a pipe from this
process as its standard input and stops when that closes, so that none is left behind.
"""

import asyncio
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import click
from msgspec import Raw
from msgspec.json import decode, encode

from steersman.clock import Clock, RealClock
from steersman.concurrency import background
from steersman.errors import ConfigError
from steersman.history.records import ObjectView
from steersman.history.replicas import merged_overview, merged_summaries, merged_view
from steersman.history.state import ObjectSummary, Overview
from steersman.manager.metrics.merging import merged_metrics
from steersman.manager.process.signals import stop_on_signals
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.server import Listen, Server

_log = logging.getLogger("steersman.processes")

#: Seconds until a process that ended is started again: twice as long each time, up to the second number.
_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
#: Seconds after which a process counts as healthy again.
_HEALTHY = 60.0
#: Seconds that a process gets to end, beyond its grace period.
_PATIENCE = 10.0
#: Seconds that a process gets to answer.
_ANSWER = 5.0
#: Exit code of a process that cannot run with these options: it would never run.
_UNUSABLE = 2
_TEXT = [("content-type", "text/plain; charset=utf-8")]
_METRICS = [("content-type", "text/plain; version=0.0.4; charset=utf-8")]
_JSON = [("content-type", "application/json"), ("cache-control", "no-store")]
_OK = 200


def passed_on(context: click.Context, without: Sequence[str]) -> list[str]:
    """Return the arguments of a command as they were given, without some of the parameters."""
    arguments: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in without or source is not click.core.ParameterSource.COMMANDLINE:
            continue
        if isinstance(parameter, click.Argument):
            arguments += [str(one) for one in value or ()]
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            arguments += [parameter.opts[0]] if value else []
        else:
            values = value if parameter.multiple else [value]
            arguments += [f"{parameter.opts[0]}={one}" for one in values or ()]
    return arguments


def history_socket(socket: Path) -> Path:
    """Return where a process answers about its history, given where it answers probes."""
    return socket.with_suffix(".history")


class _Process:
    """One process of the operator."""

    def __init__(self, number: int, arguments: Sequence[str], socket: Path) -> None:
        self.number = number
        self.arguments = arguments
        #: Where it answers probes and scrapes.
        self.socket = socket
        self.running: asyncio.subprocess.Process | None = None
        self.code = 0

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it runs.

        Not by ``terminate``: that collects the exit code of a process that has just ended, and asyncio then reports
        255 instead.
        """
        if self.running is not None and self.running.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.running.pid, number)

    async def ask(self, target: str, clock: Clock, *, history: bool) -> tuple[int, bytes]:
        """Return the status and the body of its answer; status 0 if it does not answer."""
        socket = history_socket(self.socket) if history else self.socket
        try:
            async with clock.timeout(_ANSWER):
                reader, writer = await asyncio.open_unix_connection(socket)
                try:
                    writer.write(f"GET {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
                    head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
                finally:
                    writer.close()
        except (OSError, TimeoutError) as error:
            return 0, f"process {self.number} does not answer: {str(error) or 'timeout'}\n".encode()
        return int(head.split(b" ", 2)[1]), body


class Processes:
    """The processes of an operator, until one of them cannot run or a stop is requested."""

    def __init__(self, commands: Sequence[Sequence[str]], sockets: Path, *, grace: float, clock: Clock) -> None:
        self._processes = [
            _Process(number, command, sockets / f"{number}.sock") for number, command in enumerate(commands)
        ]
        self._grace = grace
        self._clock = clock
        self._stopping = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> int:
        """Run until a stop is requested; return the exit code."""
        async with asyncio.TaskGroup() as tasks, background(self._forward(stop), name="stop"):
            kept = [
                tasks.create_task(self._keep(process), name=f"process/{process.number}") for process in self._processes
            ]
            await asyncio.wait(kept)
        # The code of a process that a signal ended is negative.
        return max(1 if process.code < 0 else process.code for process in self._processes)

    def kill(self) -> None:
        """End every process at once."""
        for process in self._processes:
            process.signal(signal.SIGKILL)

    async def ask(self, target: str, *, history: bool = False) -> dict[int, tuple[int, bytes]]:
        """Return the answer of each process to a probe, or to a question about its history."""
        async with asyncio.TaskGroup() as tasks:
            asked = {
                process.number: tasks.create_task(
                    process.ask(target, self._clock, history=history), name=f"ask/{process.number}"
                )
                for process in self._processes
            }
        return {number: task.result() for number, task in asked.items()}

    async def _forward(self, stop: asyncio.Event) -> None:
        """Pass a stop on to the processes, and kill those that do not end."""
        await stop.wait()
        self._stopping.set()
        for process in self._processes:
            process.signal(signal.SIGTERM)
        await self._clock.sleep(self._grace + _PATIENCE)
        self.kill()

    async def _keep(self, process: _Process) -> None:
        """Start a process, and start it again whenever it ends."""
        pause = _PAUSE
        while not self._stopping.is_set():
            started = self._clock.monotonic()
            process.code = await self._run_once(process)
            if process.code == _UNUSABLE:
                self._stopping.set()
                self._terminate_others(process)
            if self._stopping.is_set():
                return
            pause = _PAUSE if self._clock.monotonic() - started > _HEALTHY else pause
            extra = {"number": process.number, "code": process.code, "restart_in": pause}
            _log.warning("a process ended and is started again", extra=extra)
            with suppress(TimeoutError):
                async with self._clock.timeout(pause):
                    await self._stopping.wait()
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run_once(self, process: _Process) -> int:
        process.socket.unlink(missing_ok=True)
        process.running = await asyncio.create_subprocess_exec(
            *process.arguments,
            stdin=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for this process, which passes it on
        )
        if self._stopping.is_set():  # while it was being started
            process.signal(signal.SIGTERM)
        try:
            return await process.running.wait()
        finally:
            process.running = None

    def _terminate_others(self, failed: _Process) -> None:
        for process in self._processes:
            if process is not failed:
                process.signal(signal.SIGTERM)


class ProcessesApp:
    """Answers probes and scrapes for all processes."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer one request."""
        first = urlsplit(request.target).path.strip("/").partition("/")[0]
        if request.method not in {"GET", "HEAD"}:
            exchange.respond(Response(405, _TEXT, b"method not allowed\n"))
            return
        answers = await self._processes.ask(request.target)
        if first == "metrics":
            pages = {str(number): body for number, (status, body) in answers.items() if status == _OK}
            exchange.respond(Response(_OK, _METRICS, merged_metrics(pages, label="process")))
        else:
            exchange.respond(_worst(first, answers))


def _worst(probe: str, answers: Mapping[int, tuple[int, bytes]]) -> Response:
    """Return ``ok`` if every process is healthy. A process that starts is alive, but not ready."""
    failing = {
        number: body for number, (status, body) in answers.items() if status != _OK and (status or probe == "readyz")
    }
    if not failing:
        return Response(_OK, _TEXT, b"ok")
    lines = [b"process %d:\n%s\n" % (number, body.rstrip()) for number, body in failing.items()]
    return Response(500, _TEXT, b"".join(lines))


class ProcessesHistoryApp:
    """Answers ``steer why`` for all processes: through a port-forward it reaches one port of the pod."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer one request."""
        if request.method != "GET":
            exchange.respond(Response(405, _JSON, b'{"error":"only GET is possible here"}'))
            return
        answers = (await self._processes.ask(request.target, history=True)).values()
        bodies = [body for status, body in answers if status == _OK]
        if bodies:
            exchange.respond(Response(_OK, _JSON, merged_history(request.target.partition("?")[0], bodies)))
            return
        rejected = [(status, body) for status, body in answers if status]
        silent = (503, b'{"error":"no process of the operator answers: it may be starting"}')
        status, body = next(iter(rejected), silent)
        exchange.respond(Response(status, _JSON, body))


def merged_history(page: str, bodies: Sequence[bytes]) -> bytes:
    """Return the answers of several processes as one."""
    match page:
        case "/clusters":
            return encode(list(dict.fromkeys(name for body in bodies for name in decode(body, type=list[str]))))
        case "/overview":
            return encode(merged_overview([decode(body, type=Overview) for body in bodies]))
        case "/objects":
            return encode(merged_summaries([decode(body, type=list[ObjectSummary]) for body in bodies]))
        case "/object":
            return encode(merged_view([decode(body, type=ObjectView) for body in bodies]))
        case _:  # lists: recordings, reviews, changes of leadership
            return encode([one for body in bodies for one in decode(body, type=list[Raw])])


def child_command(arguments: Sequence[str], socket: Path) -> list[str]:
    """Return the command of one process."""
    return [sys.executable, "-m", "steersman.cli", "run", f"--supervised={socket}", *arguments]


async def run_processes(
    arguments: Sequence[Sequence[str]], probes: Listen | None, history: Sequence[Listen], *, grace: float
) -> int:
    """Run processes with these arguments of ``steer run`` until a signal arrives; return the exit code."""
    clock = RealClock()
    with tempfile.TemporaryDirectory(prefix="steersman-") as directory:
        sockets = Path(directory)
        filled = [child_command(given, sockets / f"{number}.sock") for number, given in enumerate(arguments)]
        processes = Processes(filled, sockets, grace=grace, clock=clock)
        async with stop_on_signals(at_once=processes.kill) as stop, AsyncExitStack() as stack:
            if probes is not None:
                await stack.enter_async_context(Server(ProcessesApp(processes), clock=clock, listen=probes))
            for listen in history:
                try:
                    await stack.enter_async_context(Server(ProcessesHistoryApp(processes), clock=clock, listen=listen))
                except ConfigError as error:  # the operator works all the same
                    _log.warning("steer why cannot ask this operator", extra={"error": str(error)})
            return await processes.run(stop)
