"""A node that is killed leaves no process behind, whether or not its guardian is killed, too."""

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

#: Starts another process that leaves the group, and prints its number.
FAMILY = """
import subprocess, sys, time
idle = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
other = subprocess.Popen(idle, start_new_session=True)
open(sys.argv[1], "w").write(str(other.pid))
time.sleep(600)
"""

#: A node as a separate program.
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
    """Start a node as a program; return it, its process, and its guardian."""
    program = [sys.executable, "-c", NODE, str(directory), f"mark-of-{directory}", FAMILY]
    node = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    assert node.stdout is not None
    process, guard = (await node.stdout.readline()).split()
    return node, int(process), int(guard)


async def test_a_node_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    """After `kill -9` the guardian cleans up, whatever the processes did meanwhile."""
    node, process, guard = await _start(tmp_path)
    other = await _other(tmp_path)
    assert _is_alive(process)
    assert _is_alive(other)
    node.kill()
    await node.wait()
    await _eventually_gone(process, other, guard)


async def test_the_next_node_ends_leftover_processes_if_the_guardian_was_killed_too(tmp_path: Path) -> None:
    """The process ids are on disk, with their start times."""
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


async def test_a_reused_process_id_is_not_killed(tmp_path: Path) -> None:
    """The start time identifies the process."""
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


async def test_no_process_is_left_after_a_normal_end(tmp_path: Path) -> None:
    """Also none that left its group on purpose."""
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


def test_the_process_group_of_the_node_itself_is_never_killed() -> None:
    """A record that was tampered with must not end the node."""
    guardian.end_group(os.getpgrp())
    guardian.end_group(0)
    guardian.end_group(1)
    assert guardian.started_at(os.getpid())
    assert guardian.started_at(2**22 + 1) == ""
