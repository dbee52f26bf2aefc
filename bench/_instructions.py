"""Count the instructions of a Python program between two moments, by callgrind of Valgrind.

CPU time depends on the caches that other processes fill, and on the machine; a share of a few percent disappears in it.
The number of instructions does not. It leaves out the time in the kernel.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Self


def can_count() -> bool:
    """Return whether Valgrind is installed."""
    return shutil.which("valgrind") is not None and shutil.which("callgrind_control") is not None


class CountedProgram:
    """A program that answers each line on its standard input by a line, between which its instructions are counted."""

    def __init__(self, directory: Path, module: str, *arguments: str) -> None:
        self._out = directory / "callgrind"
        options = ["--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={self._out}", "-q"]
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            ["valgrind", *options, sys.executable, "-m", module, *arguments],  # noqa: S607 - as the user has it
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin"},
        )
        self._dumps = 0

    def __enter__(self) -> Self:
        self.ask("")
        self._control("--instr=on")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, line: str) -> str:
        """Send a line, and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise EOFError(f"the measured program has ended with {self._process.wait()}")
        return answer

    def count(self, line: str) -> int:
        """Return how many instructions it takes from a line to its answer."""
        self._control("--zero")
        self.ask(line)
        self._control("--dump")
        self._dumps += 1
        dump = self._out.with_name(f"{self._out.name}.{self._dumps}").read_text()
        found = re.search(r"^(?:summary|totals): (\d+)", dump, re.MULTILINE)
        assert found is not None, dump[:500]
        return int(found[1])

    def _control(self, option: str) -> None:
        subprocess.run(  # noqa: S603 - ourselves
            ["callgrind_control", option, str(self._process.pid)],  # noqa: S607 - as the user has it
            check=True,
            capture_output=True,
        )
