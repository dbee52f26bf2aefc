"""One run of a container: its process, what it writes, and what else is executed inside."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from steersman.clock import Clock
from steersman.localcluster.process_node.containers.container_context import ContainerContext
from steersman.localcluster.process_node.containers.container_log import ContainerLog, read_log, remove_log
from steersman.localcluster.process_node.processes.pipes import OutputPipe
from steersman.localcluster.process_node.processes.spawning import LocalProcess, Processes, Streams

#: Maximum output of a probe's or hook's command in bytes.
_MOST_SAID = 10 * 1024
#: Maximum size of a container's termination message, from its file or its last lines.
_MESSAGE_BYTES, _FALLBACK_BYTES, _FALLBACK_LINES = 4096, 2048, 80


@dataclass(slots=True)
class ContainerRun:
    """A running container."""

    context: ContainerContext
    process: LocalProcess
    log: ContainerLog
    log_path: Path
    _pipes: tuple[OutputPipe, OutputPipe]
    _processes: Processes
    _clock: Clock

    @classmethod
    async def start(
        cls, context: ContainerContext, processes: Processes, log_path: Path, clock: Clock
    ) -> "ContainerRun":
        """Start the container's command; raise ``StartError`` if that is not possible."""
        program = context.command()
        pipes = OutputPipe(), OutputPipe()
        try:
            streams = Streams(stdout=pipes[0].descriptor, stderr=pipes[1].descriptor)
            process = await processes.start(program, streams)
        except BaseException:
            for pipe in pipes:
                pipe.close()
            raise
        log = ContainerLog(log_path)
        for name, pipe in zip(("stdout", "stderr"), pipes, strict=True):
            pipe.handed_over()
            pipe.read(partial(_note, log, name, clock))
        return cls(context, process, log, log_path, pipes, processes, clock)

    async def wait(self) -> int:
        """Wait until all its processes have ended, and return the exit code of its command."""
        try:
            code = await self.process.wait()
        finally:
            self._processes.ended(self.process)
        for pipe in self._pipes:
            await pipe.wait_end(self._clock)
        self.log.close(self._clock.now())
        return code

    def close(self) -> None:
        """Kill everything at once: the node itself is ending."""
        self._processes.ended(self.process)
        for pipe in self._pipes:
            pipe.close()
        self.log.close(self._clock.now())

    def last_words(self, code: int, path: Path) -> str:
        """Return the termination message of the container."""
        told = path.read_bytes()[:_MESSAGE_BYTES].decode("utf-8", "replace") if path.exists() else ""
        if not told and code != 0 and self.context.container.termination_message_policy == "FallbackToLogsOnError":
            lines = [entry.text for entry in read_log(self.log_path)][-_FALLBACK_LINES:]
            told = b"\n".join([*lines, b""])[-_FALLBACK_BYTES:].decode("utf-8", "replace")
        return told


def _note(log: ContainerLog, stream: str, clock: Clock, data: bytes) -> None:
    log.write(stream, data, clock.now())


class RunLogs:
    """The logs of a container's runs: the current one and the one before are kept."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path(self, number: int) -> Path:
        """Return where the log of a run is."""
        return self._directory / f"{number}.log"

    def begin(self, number: int) -> Path:
        """Rotate the logs for another run, and return the path of the new one."""
        remove_log(self.path(number))
        if number > 1:
            remove_log(self.path(number - 2))
        return self.path(number)


async def execute(
    context: ContainerContext, processes: Processes, command: Sequence[str], clock: Clock
) -> tuple[int, str]:
    """Run a command inside a container to its end; return its exit code and output. Cancelling ends it."""
    program = context.program(command)
    pipe = OutputPipe()
    said = bytearray()
    process: LocalProcess | None = None
    try:
        process = await processes.start(program, Streams(stdout=pipe.descriptor, stderr=pipe.descriptor))
        pipe.handed_over()
        pipe.read(lambda data: said.extend(data[: _MOST_SAID - len(said)]))
        code = await process.wait()
        processes.ended(process)
        await pipe.wait_end(clock)
    finally:
        if process is not None:
            processes.ended(process)
        pipe.close()
    return code, said.decode("utf-8", "replace")
