"""Replays what somebody typed and saw: the console blocks of a guide, run in a real shell.

A transcript is text. ``$ command`` is typed; the lines below it are what must be seen. In them ``…`` stands for
anything, alone in a line for any number of lines. A command is repeated until its output is as told, because a cluster
needs its moment; one that ends in ``&`` goes on until the end, and the next is typed when it has said its first word,
unless that goes to a file; ``$ export NAME=value`` holds for the commands below it.
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
    """A command and what must be seen."""

    command: str
    expected: tuple[str, ...] = ()

    def fits(self, output: str) -> bool:
        """Tell whether an output is as told; how wide its columns are does not matter."""
        lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
        seen = "".join(f"{line}\n" for line in lines)
        return re.fullmatch("".join(map(_pattern, self.expected)), seen) is not None


def _pattern(told: str) -> str:
    """Give the pattern of one line, or of any number of them."""
    words = " ".join(told.split())
    return "(?:.*\n)*" if words == "…" else re.escape(words).replace("…", ".*") + "\n"


def console_blocks(markdown: str) -> list[str]:
    """Give the console blocks of a page."""
    return [found[1] for found in _BLOCK.finditer(markdown)]


def steps_of(transcript: str) -> list[Step]:
    """Give the commands of a transcript with what must be seen after each. A ``>`` goes on with the command above."""
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
    """Type the commands of a transcript in a folder; ``WaitTimeout`` tells the first whose output is another one.

    Commands find the programs of this Python first, kubectl and ``steer`` among them. Their home is the folder.
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

    async def is_as_told() -> bool:
        nonlocal output
        output = await _output(step.command, folder, environment)
        return step.fits(output)

    try:
        await eventually(is_as_told, clock=RealClock(), within=within)
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
    """Run a command beside the others; at the end it and all that it started are interrupted, as by Ctrl-C."""
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
                message=f"$ {command}& says nothing",
            )
            yield
        finally:
            if process.returncode is None:
                # A program that was started in the background ignores SIGINT, and so does everything that it starts.
                is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
                os.killpg(process.pid, signal.SIGTERM if is_ignored else signal.SIGINT)
            await process.wait()
