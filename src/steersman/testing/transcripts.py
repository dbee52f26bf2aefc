"""Runs transcripts, such as the console blocks of a README, in a real shell, and compares the output.

``$ command`` is a command; the lines below it are its expected output. In them ``…`` matches any text, and alone in a
line any number of lines. A command is repeated until its output matches, because a cluster needs a moment. A command
that ends in ``&`` runs until the end; the next command starts when it has printed something, unless its output goes to
a file. ``$ export NAME=value`` applies to the commands below it.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from steersman.clock import RealClock
from steersman.errors import WaitTimeout
from steersman.testing.eventually import eventually

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"export (\w+)=(\S+)")


@dataclass(frozen=True, slots=True)
class Step:
    """A command and its expected output."""

    command: str
    expected: tuple[str, ...] = ()

    def fits(self, output: str) -> bool:
        """Return whether an output matches; the width of its columns does not matter."""
        lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
        seen = "".join(f"{line}\n" for line in lines)
        return re.fullmatch("".join(map(_pattern, self.expected)), seen) is not None


def _pattern(told: str) -> str:
    """Return the regular expression of one expected line, or of any number of lines."""
    words = " ".join(told.split())
    return "(?:.*\n)*" if words == "…" else re.escape(words).replace("…", ".*") + "\n"


def console_blocks(markdown: str) -> list[str]:
    """Return the console blocks of a Markdown page."""
    return [found[1] for found in _BLOCK.finditer(markdown)]


def steps_of(transcript: str) -> list[Step]:
    """Return the commands of a transcript with their expected output.

    A line that starts with ``>`` continues a command.
    """
    steps: list[Step] = []
    for line in filter(str.strip, transcript.splitlines()):
        if line.startswith("$ "):
            steps.append(Step(line[2:].strip()))
        elif not steps:
            raise ValueError(f"a transcript begins with '$ command', not with {line!r}")
        elif line.startswith("> "):
            steps[-1] = Step(f"{steps[-1].command}\n{line[2:]}", steps[-1].expected)
        else:
            steps[-1] = Step(steps[-1].command, (*steps[-1].expected, line))
    return steps


async def replay(
    transcript: str, *, folder: Path, environment: Mapping[str, str] | None = None, within: float = 60.0
) -> None:
    """Run the commands of a transcript in a folder; ``WaitTimeout`` names the first whose output does not match.

    The programs of this Python environment come first in ``PATH``, kubectl and ``steer`` among them. The home directory
    is the folder.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    known = {"PATH": path, "HOME": str(folder), **(environment or {})}
    async with AsyncExitStack() as running:
        for step in steps_of(transcript):
            if found := _EXPORT.fullmatch(step.command):
                known[found[1]] = found[2]
            elif step.command.endswith("&"):
                await running.enter_async_context(_background(step.command.removesuffix("&"), folder, known, within))
            else:
                await _repeated(step, folder, known, within)


async def _repeated(step: Step, folder: Path, environment: Mapping[str, str], within: float) -> None:
    output = ""

    async def is_as_shown() -> bool:
        nonlocal output
        output = await _output(step.command, folder, environment)
        return step.fits(output)

    try:
        await eventually(is_as_shown, clock=RealClock(), within=within)
    except WaitTimeout:
        told = "\n".join(step.expected)
        raise WaitTimeout(f"$ {step.command}\nshould print\n{told}\nand prints\n{output}") from None


async def _output(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return output.decode(errors="replace")


@asynccontextmanager
async def _background(command: str, folder: Path, environment: Mapping[str, str], within: float) -> AsyncIterator[None]:
    """Run a command in the background; at the end interrupt it and its children, as Ctrl-C does."""
    with TemporaryFile() as said:
        process = await asyncio.create_subprocess_shell(
            f"exec {command}",
            cwd=folder,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            await eventually(
                lambda: ">" in command or os.fstat(said.fileno()).st_size or process.returncode is not None,
                clock=RealClock(),
                within=within,
                message=f"$ {command}& prints nothing",
            )
            yield
        finally:
            if process.returncode is None:
                # A background program ignores SIGINT, and so do its children, unless the handler is restored.
                is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
                os.killpg(process.pid, signal.SIGTERM if is_ignored else signal.SIGINT)
            await process.wait()
