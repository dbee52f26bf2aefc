"""A node whose program is killed leaves no process behind: neither at once, nor when its guardian was killed too."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from steersman.clock import RealClock
from steersman.localcluster.process_node.files.directory import NodeDirectory
from steersman.localcluster.process_node.processes import guardian
from steersman.localcluster.process_node.processes.spawning import Processes, Program, Streams
from steersman.testing.eventually import eventually

#: Starts another process that leaves the group, and tells its number.
FAMILY = """
import subprocess, sys, time
idle = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
other = subprocess.Popen(idle, start_new_session=True)
open(sys.argv[1], "w").write(str(other.pid))
time.sleep(600)
"""

#: A node that is a program of its own.
NODE = """
import asyncio, sys
from pathlib import Path
from steersman.localcluster.process_node.files.directory import NodeDirectory
from steersman.localcluster.process_node.processes.spawning import Processes, Program, Streams

async def main(place, mark, family):
    directory = NodeDirectory(Path(place))
    with directory.opened():
        processes = Processes(directory, mark)
        async with processes.guarded():
            arguments = [sys.executable, "-I", "-S", "-c", family, place + "/other"]
            program = Program(arguments=arguments, environment={}, directory=directory.root)
            process = await processes.start(program, Streams())
            print(process.pid, processes.guardian_pid, flush=True)
            await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


def _is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def _eventually_gone(*pids: int) -> None:
    await eventually(lambda: not [pid for pid in pids if _is_alive(pid)], clock=RealClock())


def _number(path: Path) -> int:
    return int(path.read_text() or 0) if path.exists() else 0


async def _other(directory: Path) -> int:
    """Wait for the number of the process that left its group."""
    await eventually(lambda: _number(directory / "other"), clock=RealClock())
    return _number(directory / "other")


async def _start(directory: Path) -> tuple[asyncio.subprocess.Process, int, int]:
    """Start a node as a program; give it, its process, and its guardian."""
    program = [sys.executable, "-c", NODE, str(directory), f"mark-of-{directory}", FAMILY]
    node = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    assert node.stdout is not None
    process, guard = (await node.stdout.readline()).split()
    return node, int(process), int(guard)


async def test_a_node_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    """`kill -9` gives nobody time to clean up: the guardian does it, whatever the processes did meanwhile."""
    node, process, guard = await _start(tmp_path)
    other = await _other(tmp_path)
    assert _is_alive(process)
    assert _is_alive(other)
    node.kill()
    await node.wait()
    await _eventually_gone(process, other, guard)


async def test_the_next_node_ends_what_is_left_when_the_guardian_died_too(tmp_path: Path) -> None:
    """The numbers of the processes are on disk, with when they were started."""
    node, process, guard = await _start(tmp_path)
    other = await _other(tmp_path)
    os.kill(guard, signal.SIGKILL)
    node.kill()
    await node.wait()
    assert _is_alive(process)
    directory = NodeDirectory(tmp_path)
    with directory.opened():
        async with Processes(directory, f"mark-of-{tmp_path}").guarded():
            await _eventually_gone(process, other)


async def test_a_number_that_somebody_else_has_by_now_is_left_alone(tmp_path: Path) -> None:
    """Numbers are used again; the time of the start tells who it is."""
    stranger = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", start_new_session=True
    )
    try:
        directory = NodeDirectory(tmp_path)
        with directory.opened():
            directory.keep("processes.json", {str(stranger.pid): "long ago"})
            async with Processes(directory, f"mark-of-{tmp_path}").guarded():
                assert _is_alive(stranger.pid)
    finally:
        stranger.kill()
        await stranger.wait()


async def test_nothing_is_left_when_a_node_ends_as_it_should(tmp_path: Path) -> None:
    """Also what left its group on purpose."""
    directory = NodeDirectory(tmp_path)
    with directory.opened():
        processes = Processes(directory, f"mark-of-{tmp_path}")
        async with processes.guarded():
            arguments = [sys.executable, "-I", "-S", "-c", FAMILY, str(tmp_path / "other")]
            program = Program(arguments=arguments, environment={}, directory=tmp_path)
            process = await processes.start(program, Streams())
            other = await _other(tmp_path)
    await _eventually_gone(process.pid, other)
    assert await process.wait() == 128 + signal.SIGKILL


def test_a_group_of_this_very_program_is_never_ended() -> None:
    """A record that was tampered with must not end the node itself."""
    guardian.end_group(os.getpgrp())
    guardian.end_group(0)
    guardian.end_group(1)
    assert guardian.started_at(os.getpid())
    assert guardian.started_at(2**22 + 1) == ""
