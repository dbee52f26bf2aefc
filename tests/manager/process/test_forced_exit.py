"""Operators that do not stop by themselves, as real processes."""

import json
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from steersman.manager.process.forced_exit import AFTER_GRACE, FORCED
from steersman.manager.process.signals import IMPATIENT

#: Reconcilers that do not end when they are cancelled.
STUBBORN = {
    "a loop that computes": """
        async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
            print("stuck", flush=True)
            while True:
                pass
    """,
    "a loop that is blocked in C": """
        async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
            print("stuck", flush=True)
            libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
            libc.pthread_mutex_lock(mutex)
            libc.pthread_mutex_lock(mutex)  # no signal interrupts it, so no handler of Python gets its turn
    """,
    "a task that swallows cancellation": """
        async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
            print("stuck", flush=True)
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    pass
    """,
    "a thread that waits": """
        def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
            print("stuck", flush=True)
            threading.Event().wait()
    """,
}
PROGRAM = """
import asyncio, ctypes, threading
from steersman import Context, Operator, meta
from steersman.kinds.core_v1 import ConfigMap, Namespace

operator = Operator("stubborn")
{function}
operator.reconciler(ConfigMap)(reconcile)


async def begin(client, clock) -> None:
    await client.create(ConfigMap(meta("a")))


operator.background(begin)
"""


@contextmanager
def stuck(directory: Path, kind: str, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Run an operator whose only reconcile is running and will not end; also return the file of its log."""
    (directory / "stubborn.py").write_text(PROGRAM.format(function=textwrap.dedent(STUBBORN[kind])))
    command = [sys.executable, "-m", "steersman.cli", "run", "stubborn:operator", "--embedded", *arguments]
    log = directory / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=errors, text=True) as process,  # noqa: S603 - ourselves
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "stuck\n", log.read_text()
            yield process, log
        finally:
            process.kill()


def messages(log: Path) -> list[dict[str, object]]:
    """Return the lines of a log."""
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


@pytest.mark.parametrize("kind", STUBBORN)
def test_a_second_signal_always_ends_the_process(tmp_path: Path, kind: str) -> None:
    """Also if the event loop receives no signal."""
    with stuck(tmp_path, kind) as (process, log):
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)  # two equal signals at the same time would count as one
        assert process.wait(60) == IMPATIENT
        assert "second signal: exiting at once" in [line["message"] for line in messages(log)]


def test_the_end_of_the_grace_period_always_ends_the_process(tmp_path: Path) -> None:
    """An orchestrator waits only for its grace period; the lease ends with the process."""
    with ExitStack() as stack:
        processes = {}
        for number, kind in enumerate(reversed(STUBBORN)):  # the loop that computes last: it slows the others down
            directory = tmp_path / str(number)
            directory.mkdir()
            processes[kind] = stack.enter_context(stuck(directory, kind, "--grace", "0.5"))
        started = time.monotonic()
        for process, _ in processes.values():
            process.send_signal(signal.SIGTERM)
        assert {kind: process.wait(60) for kind, (process, _) in processes.items()} == dict.fromkeys(STUBBORN, FORCED)
        assert time.monotonic() - started >= 0.5 + AFTER_GRACE
    for kind, (_, log) in processes.items():
        last = messages(log)[-1]
        assert "not everything stopped within the grace period" in str(last["message"])
        assert kind.startswith("a loop") is str(last["main_thread_in"]).startswith("reconcile (")
