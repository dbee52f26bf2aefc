"""`steer dev` as a process: its lines read with a timeout, its child processes known."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

#: Seconds that any step may take on a busy machine.
PATIENCE = 60.0


class Dev:
    """One `steer dev --plain` in a folder; killed at the end of the block, whatever happened."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "steersman.cli", "dev", "--plain", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.output = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def wait_for(self, text: str) -> str:
        """Read until a text appears; return everything since the last text that was waited for."""
        stream = self._process.stdout
        assert stream is not None
        until = time.monotonic() + PATIENCE
        while text not in self.output:
            readable, _, _ = select.select([stream], [], [], until - time.monotonic())
            data = os.read(stream.fileno(), 65536) if readable else b""
            assert data, f"{text!r} did not come: {self.output}"
            self.output += data.decode()
        seen, _, self.output = self.output.partition(text)
        return seen + text

    def child(self) -> int:
        """Return the process id of the operator."""
        number = self._process.pid
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        return int(children[0])

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait for the end and return the exit code."""
        stream = self._process.stdout
        assert stream is not None
        self.output += stream.read().decode()
        return self._process.wait(PATIENCE)


def wait_gone(process: int) -> None:
    """Wait until the process has ended or is a zombie."""
    until = time.monotonic() + PATIENCE
    status = Path(f"/proc/{process}/stat")
    while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < until, f"process {process} is still there"
        select.select([], [], [], 0.02)
