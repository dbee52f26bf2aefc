"""Starts the processes of a node, each the leader of its own session and group, and ends all of them with it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from steersman.localcluster.process_node.containers.problem import ProgramError
from steersman.localcluster.process_node.files.directory import NodeDirectory
from steersman.localcluster.process_node.processes import guardian
from steersman.localcluster.process_node.processes.guardian import (
    VARIABLE,
    end_group,
    end_marked,
    end_recorded,
    started_at,
)

_RECORD = "processes.json"
#: What a shell, and a container runtime, adds to the number of the signal that ended a process.
_SIGNALLED = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """What a process reads and writes: file descriptors of this program."""

    stdin: int = asyncio.subprocess.DEVNULL
    stdout: int = asyncio.subprocess.DEVNULL
    stderr: int = asyncio.subprocess.DEVNULL


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is executed: no shell, no search, no inherited environment."""

    arguments: Sequence[str]
    #: It may contain the contents of Secrets.
    environment: Mapping[str, str] = field(repr=False)
    directory: Path


class LocalProcess:
    """One process that was started, with all processes that it starts."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its number, which is also that of its group."""
        return self._process.pid

    def signal(self, name: str) -> None:
        """Send a signal to the whole group."""
        end_group(self.pid, signal.Signals[name])

    async def wait(self) -> int:
        """Wait for its end, and return its exit code as a shell counts it."""
        code = await self._process.wait()
        return code if code >= 0 else _SIGNALLED - code


class Processes:
    """All processes of a node."""

    def __init__(self, directory: NodeDirectory, mark: str) -> None:
        self._directory = directory
        self._mark = mark
        #: Group → when its leader was started.
        self._groups: dict[int, str] = {}
        self._guardian: asyncio.subprocess.Process | None = None

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def guardian_pid(self) -> int:
        """The number of the process that ends the others when this program ends."""
        return self._guardian.pid if self._guardian is not None else 0

    @asynccontextmanager
    async def guarded(self) -> AsyncIterator[None]:
        """End the processes that an earlier node left; inside the block processes can be started, and end with it."""
        end_recorded((int(group), start) for group, start in self._directory.read(_RECORD).items())
        end_marked(self._mark)
        self._keep()
        program = [sys.executable, "-I", "-S", str(guardian.__file__), self._mark]
        self._guardian = await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            env={},
        )
        try:
            yield
        finally:
            for group in list(self._groups):
                end_group(group)
            if self._guardian.stdin is not None:
                self._guardian.stdin.close()
            await self._guardian.wait()
            self._groups.clear()
            self._keep()

    async def start(self, program: Program, streams: Streams) -> LocalProcess:
        """Start a program; raise ``ProgramError`` if it cannot be executed."""
        try:
            process = await asyncio.create_subprocess_exec(
                *program.arguments,
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
                start_new_session=True,
                env={**program.environment, VARIABLE: self._mark},
                cwd=program.directory,
            )
        except (OSError, ValueError) as error:
            raise ProgramError(f"{program.arguments[0]} cannot be executed: {error}") from None
        self._groups[process.pid] = started_at(process.pid)
        self._tell(f"+{process.pid}\n")
        self._keep()
        return LocalProcess(process)

    def ended(self, process: LocalProcess) -> None:
        """Handle the end of a process: end the rest of its group."""
        end_group(process.pid)
        if self._groups.pop(process.pid, None) is not None:
            self._tell(f"-{process.pid}\n")
            self._keep()

    def _tell(self, line: str) -> None:
        if self._guardian is not None and self._guardian.stdin is not None:
            self._guardian.stdin.write(line.encode())

    def _keep(self) -> None:
        self._directory.keep(_RECORD, {str(group): start for group, start in self._groups.items()})


def base_environment(home: Path, hostname: str) -> dict[str, str]:
    """Return the variables that every process has; of this program's own only where programs are and the language."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ}
    return {"PATH": os.defpath, **kept, "HOME": str(home), "TMPDIR": str(home), "HOSTNAME": hostname}
