"""`Program`: the command line of an operator, its processes, and the last lines that they logged."""

import os
import shlex
import shutil
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from steersman.clock import Clock
from steersman.concurrency import unbroken
from steersman.errors import ConfigError, SteersmanError
from steersman.localcluster.process_node.containers.problem import ProgramError
from steersman.localcluster.process_node.processes.spawning import LocalProcess, Processes, Streams
from steersman.localcluster.process_node.processes.spawning import Program as Executable

#: Lines of a program's log that a message shows, and from how many bytes at its end they are taken.
_LINES, _TAIL = 15, 16_384
#: Seconds that a program gets to stop after SIGTERM.
_GRACE = 15.0


class OperatorExited(SteersmanError):  # noqa: N818 - named as our errors are
    """The program ended by itself; the message has its last log lines."""


@dataclass(frozen=True, slots=True)
class Program:
    """How to start an operator."""

    arguments: tuple[str, ...]

    @classmethod
    def parse(cls, command: str) -> Self:
        """Parse a command line as a shell splits it; reject one whose program cannot be found."""
        try:
            arguments = shlex.split(command)
        except ValueError as error:
            raise ConfigError(f"{command!r} is not a command line: {error}") from None
        if not arguments:
            raise ConfigError("the command is empty: write it as --command './manager --kubeconfig {kubeconfig}'")
        if shutil.which(arguments[0]) is None:
            raise ConfigError(f"there is no program {arguments[0]!r}: give its path, or the name of one in PATH")
        return cls(tuple(arguments))

    def with_values(self, kubeconfig: Path) -> Executable:
        """Return what to execute, with ``{kubeconfig}`` and ``{port}``, a free port, filled in."""
        values: Mapping[str, str] = {"{kubeconfig}": str(kubeconfig), "{port}": str(_free_port())}
        arguments = []
        for argument in self.arguments:
            for name, value in values.items():
                argument = argument.replace(name, value)
            arguments.append(argument)
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        return Executable(arguments=arguments, environment=environment, directory=Path.cwd())


class ProgramLog:
    """The file that all processes of one run write to."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def last_lines(self) -> str:
        """Return the end of the log."""
        if not self.file.exists():
            return "(it logged nothing)"
        with self.file.open("rb") as log:
            log.seek(max(self.file.stat().st_size - _TAIL, 0))
            lines = log.read().decode("utf-8", "replace").splitlines()[-_LINES:]
        return "\n".join(f"  {line}" for line in lines) or "  (it logged nothing)"


@asynccontextmanager
async def started(executable: Executable, processes: Processes, log: ProgramLog) -> AsyncIterator[LocalProcess]:
    """Start a process for the block; afterwards it and everything that it started is gone."""
    with log.file.open("ab") as file:
        streams = Streams(stdout=file.fileno(), stderr=file.fileno())
        try:
            process = await processes.start(executable, streams)
        except ProgramError as error:
            raise ConfigError(str(error)) from None
    try:
        yield process
    finally:
        process.signal("SIGKILL")
        # Even while being cancelled: the caller may rely on the end of the process.
        await unbroken(process.wait())
        processes.ended(process)


def is_running(pid: int) -> bool:
    """Return whether a thread of a process runs or waits for a processor; false where the system does not tell."""
    try:
        return any(_state(file.read_bytes()) == b"R" for file in Path(f"/proc/{pid}/task").glob("*/stat"))
    except OSError:  # it ended meanwhile
        return False


def _state(stat: bytes) -> bytes:
    """Return the state in a line of proc(5): the letter after the name, which is in parentheses."""
    return stat[stat.rfind(b")") + 2 :][:1]


async def stop(process: LocalProcess, clock: Clock) -> None:
    """Ask a process to stop, as a kubelet does; one that does not is killed when its block ends."""
    process.signal("SIGTERM")
    try:
        async with clock.timeout(_GRACE):
            await process.wait()
    except TimeoutError:
        return


def _free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
