"""Follow a guide literally: save the files that it shows and type its commands in a shell, from top to bottom.

A block whose first line is a comment with a file name (``# website.py``) is saved under that name; a Python block
without a name is added to the file before it. The commands of console blocks are typed one after the other in one
shell, so that ``cd`` and ``export`` last. Lines below a command are its expected output, as in
`steersman.testing.transcripts`; a command without any must succeed. ``steer dev`` keeps its terminal; the commands
below it are typed in a second one.
"""

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from steersman.testing.transcripts import Step, steps_of

_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME: Final = re.compile(r"# ([\w.-]+\.(?:py|yaml|toml))\n")
#: Marks the end of a command's output, followed by its exit code and the working directory.
_END: Final = "--end-of-command--"
#: What `steer dev` prints when the operator has started.
_STARTED: Final = "is running"
#: Seconds that a command may take on a busy machine, downloads included.
PATIENCE: Final = 300.0
#: Seconds that `steer dev` may take to start.
_START: Final = 60.0


class Terminal:
    """One shell, with everything that it started; all of it has ended after the block."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._shell = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Not SIGINT: programs started in the background of a script ignore it.
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._shell.pid, number)
                self._shell.wait(20 if number is signal.SIGTERM else None)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        self._shell.communicate()

    def type(self, command: str) -> tuple[str, int]:
        """Type a command, wait for its end, and return its output and exit code."""
        # Commands must not read the following commands from stdin.
        self._write(f"{{ {command}\n}} </dev/null; echo {_END} $? $PWD\n")
        output, end = self._read_until(re.compile(rf"{_END} (\d+) (.*)\n"), command)
        self.folder = Path(end[2])
        return output, int(end[1])

    def start(self, command: str, until: str) -> None:
        """Type a command that keeps the terminal, and wait until it prints a text."""
        self._write(f"exec {command} </dev/null\n")
        self._read_until(re.compile(re.escape(until)), command, within=_START)

    def stop(self) -> int:
        """Press Ctrl-C and return the exit code of the command that keeps the terminal."""
        self._shell.send_signal(signal.SIGINT)
        self._shell.communicate(timeout=PATIENCE)
        return self._shell.returncode

    def _write(self, text: str) -> None:
        assert self._shell.stdin is not None  # noqa: S101 - a pipe was asked for
        self._shell.stdin.write(text.encode())
        self._shell.stdin.flush()

    def _read_until(
        self, pattern: re.Pattern[str], command: str, within: float = PATIENCE
    ) -> tuple[str, re.Match[str]]:
        assert self._shell.stdout is not None  # noqa: S101 - a pipe was asked for
        seen, deadline = "", time.monotonic() + within
        while (found := pattern.search(seen)) is None:
            readable, _, _ = select.select([self._shell.stdout], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._shell.stdout.fileno(), 65536) if readable else b""
            if not data:
                raise AssertionError(f"$ {command}\nended or printed no {pattern.pattern!r} in {within:.0f} s:\n{seen}")
            seen += data.decode(errors="replace")
        return seen[: found.start()], found


def follow(
    page: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    is_typed: Callable[[str], bool] = lambda _: True,
    on_done: Callable[[str, float], None] = lambda _, __: None,
) -> list[str]:
    """Save the files of a page and type the commands for which ``is_typed`` holds; return all commands.

    ``on_done`` is called after each command that was typed, with the seconds until it printed what the page shows.
    Raises `AssertionError` at the first command that fails or prints something else than the page shows.
    """
    commands: list[str] = []
    with ExitStack() as stack:
        first = terminal = stack.enter_context(Terminal(folder, environment))
        for content in _contents(page):
            if not isinstance(content, Step):
                name, text, is_more = content
                with (terminal.folder / name).open("a" if is_more else "w", encoding="utf-8") as file:
                    file.write(text)
                continue
            commands.append(content.command)
            if content.command.split()[:2] == ["steer", "dev"]:
                first.start(content.command, _STARTED)
                terminal = stack.enter_context(Terminal(first.folder, environment))
            elif is_typed(content.command):
                begun = time.monotonic()
                _expect(terminal, content)
                on_done(content.command, time.monotonic() - begun)
        if terminal is not first:
            code = first.stop()
            assert code == 0, f"steer dev ended with {code} after Ctrl-C"  # noqa: S101 - a check is what this is
    return commands


def _contents(page: str) -> Iterator[Step | tuple[str, str, bool]]:
    """Yield the commands and files of a page, in order; a file is its name, its text, and whether that is added."""
    name = ""
    for language, text in _BLOCK.findall(page):
        if language == "console":
            yield from steps_of(text)
        elif (named := _FILE_NAME.match(text)) is not None:
            name = named[1]
            yield name, text, False
        elif name.endswith(".py") and language == "python":
            yield name, f"\n\n{text}", True


def _expect(terminal: Terminal, step: Step) -> None:
    """Type a command; if the page shows its output, repeat it until the output matches."""
    print(f"$ {step.command}", flush=True)
    deadline = time.monotonic() + 30
    while True:
        output, code = terminal.type(step.command)
        if code == 0 and (not step.expected or step.fits(output)):
            return
        if not step.expected or time.monotonic() > deadline:
            shown = "\n".join(step.expected) or "(success)"
            raise AssertionError(f"$ {step.command}\nshould print\n{shown}\nand printed (exit code {code})\n{output}")
