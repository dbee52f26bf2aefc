"""`RealCluster`: a cluster for as long as a block lasts, and commands inside of its namespaces."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from steersman.json_types import JsonObject
from tools.real_cluster.parts import Parts
from tools.real_cluster.supervisor import runs_folder, sweep

_STOP_SECONDS: Final = 180


class StartError(Exception):
    """The cluster did not start; the message has its last words."""


def interrupt_on_signals() -> None:
    """Raise `KeyboardInterrupt` on SIGINT and SIGTERM, also in the background of a script, where SIGINT is ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


@dataclass(frozen=True, slots=True)
class Entrance:
    """How to run commands in a running cluster."""

    #: The process that removes it in the end.
    supervisor: int
    #: The first process of its namespaces, as the host counts.
    pid: int
    kubeconfig: Path
    #: Folders of kubectl and the other programs.
    programs: Sequence[Path]

    def command(self, *command: str) -> list[str]:
        """Return the command that runs another one inside, in the same folder."""
        namespaces = ["--mount", "--net", "--pid", "--uts", "--ipc"]
        return ["nsenter", f"--target={self.pid}", *namespaces, f"--wdns={Path.cwd()}", "--", *command]

    def environment(self) -> dict[str, str]:
        """Return the variables for commands inside."""
        programs = os.pathsep.join([str(Path(sys.executable).parent), *map(str, self.programs)])
        return {
            **os.environ,
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }

    def run(self, *command: str) -> int:
        """Run a command inside; return its exit code."""
        return subprocess.run(self.command(*command), env=self.environment(), check=False).returncode  # noqa: S603 - the caller's own command


class RealCluster:
    """Starts on entry; on exit, or when this process ends in any way, the cluster is removed."""

    def __init__(self, parts: Parts, tell: Callable[[str], None] = lambda _: None) -> None:
        self._parts = parts
        self._tell = tell

    def __enter__(self) -> Entrance:
        self._supervisor = subprocess.Popen(
            [sys.executable, "-m", "tools.real_cluster.supervisor"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=Path(__file__).parents[2],
        )
        try:
            state = self._wait_ready()
        except BaseException:
            self._stop()
            raise
        return entrance_of(state, self._parts)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _wait_ready(self) -> JsonObject:
        assert self._supervisor.stdout is not None  # noqa: S101 - it is a pipe
        last = []
        for line in self._supervisor.stdout:
            if line.startswith("ready "):
                state: JsonObject = json.loads(line.removeprefix("ready "))
                return state
            last.append(line.rstrip())
            self._tell(line.rstrip())
        raise StartError("the cluster did not start:\n" + "\n".join(last[-40:]))

    def wait(self) -> None:
        """Wait until the cluster ends by itself, passing on what it reports."""
        assert self._supervisor.stdout is not None  # noqa: S101 - it is a pipe
        for line in self._supervisor.stdout:
            self._tell(line.rstrip())

    def _stop(self) -> None:
        assert self._supervisor.stdin is not None  # noqa: S101 - it is a pipe
        self._supervisor.stdin.close()
        if self._supervisor.wait(timeout=_STOP_SECONDS) < 0:
            sweep(runs_folder(self._parts))  # It was killed, so nothing has removed its cgroups and files.


def entrance_of(state: JsonObject, parts: Parts) -> Entrance:
    """Return the entrance of a cluster by what it wrote about itself."""
    return Entrance(state["supervisor"], state["pid"], Path(state["kubeconfig"]), [parts.binaries.folder])
