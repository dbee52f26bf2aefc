"""Whether the process of an operator has anything to run."""

import subprocess
import sys

import pytest

from steersman.simulation.binaries.program import is_running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the state of a process")


def test_a_process_that_computes_is_running_and_one_that_waits_is_not() -> None:
    """Also one that waits for a processor is running: a busy machine must not be taken for an idle program."""
    code = "print(flush=True); input(); print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own interpreter
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            while is_running(process.pid):  # on its way into input()
                pass
            process.stdin.write(b"\n")
            process.stdin.flush()
            process.stdout.readline()
            assert is_running(process.pid)
        finally:
            process.kill()


def test_a_process_that_ended_is_not_running() -> None:
    """It may end between two looks."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert not is_running(process.pid)
