"""One command that a client runs inside a container over a WebSocket: `kubectl exec`."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from steersman.clock import Clock
from steersman.errors import DecodeError
from steersman.localcluster.process_node.containers.container_context import ContainerContext
from steersman.localcluster.process_node.containers.problem import StartError
from steersman.localcluster.process_node.processes.pipes import InputPipe, OutputPipe
from steersman.localcluster.process_node.processes.spawning import LocalProcess, Processes, Streams
from steersman.localcluster.process_node.processes.terminal import on_terminal, open_terminal, resize
from steersman.objects.codec import decode_json
from steersman.protocol.remote.remote_command import Channel, ended, failed, message
from steersman.protocol.remote.websocket import WebSocket


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecRequest:
    """The command to run, and which of its streams are wanted."""

    command: Sequence[str]
    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    tty: bool = False


class ExecSession:
    """A command and its client."""

    def __init__(self, socket: WebSocket, request: ExecRequest, clock: Clock) -> None:
        self._socket = socket
        self._request = request
        self._clock = clock
        self._input: InputPipe | None = None
        self._outputs: dict[Channel, OutputPipe] = {}
        #: The near end of the terminal, if there is one.
        self._terminal = -1

    async def run(self, context: ContainerContext, processes: Processes) -> None:
        """Run the command to its end and send its exit status; it is ended when the client disconnects."""
        try:
            process = await self._start(context, processes)
        except StartError as error:
            self._socket.send(message(Channel.ERROR, failed(f"error executing command in container: {error}")))
            self._close()
            return
        try:
            code = await self._talk(process, processes)
            self._socket.send(message(Channel.ERROR, ended(code)))
        finally:
            processes.ended(process)
            self._close()

    async def _start(self, context: ContainerContext, processes: Processes) -> LocalProcess:
        program = context.program(self._request.command)
        if self._request.tty:
            near, far = open_terminal()
            self._terminal = near
            self._outputs = {Channel.STDOUT: OutputPipe(near, far)}
            self._input = InputPipe(os.dup(near))
            streams = Streams(stdin=far, stdout=far, stderr=far)
            program = replace(program, arguments=on_terminal(program.arguments))
        else:
            outputs = {Channel.STDOUT: self._request.stdout, Channel.STDERR: self._request.stderr}
            self._outputs = {channel: OutputPipe() for channel, is_wanted in outputs.items() if is_wanted}
            self._input = InputPipe() if self._request.stdin else None
            wanted = {channel: pipe.descriptor for channel, pipe in self._outputs.items()}
            streams = Streams(
                stdin=asyncio.subprocess.DEVNULL if self._input is None else self._input.descriptor,
                stdout=wanted.get(Channel.STDOUT, asyncio.subprocess.DEVNULL),
                stderr=wanted.get(Channel.STDERR, asyncio.subprocess.DEVNULL),
            )
        try:
            return await processes.start(program, streams)
        finally:
            for pipe in (*self._outputs.values(), *([self._input] if self._input is not None else ())):
                pipe.handed_over()

    async def _talk(self, process: LocalProcess, processes: Processes) -> int:
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(self._listen(process), name="exec/input")
            speaking = [
                tasks.create_task(self._speak(channel, pipe), name=f"exec/{channel.name.lower()}")
                for channel, pipe in self._outputs.items()
            ]
            code = await process.wait()
            processes.ended(process)
            for task in speaking:
                # A pipe that another process holds open does not delay the end.
                with suppress(TimeoutError):
                    async with self._clock.timeout(1.0):
                        await asyncio.wait({task})
                task.cancel()
            listening.cancel()
        return code

    async def _listen(self, process: LocalProcess) -> None:
        """Pass on the client's input; end the command when the client disconnects."""
        with suppress(DecodeError):
            while (said := await self._socket.receive()) is not None:
                await self._heed(said)
        process.signal("SIGKILL")

    async def _heed(self, said: bytes) -> None:
        channel, data = said[:1], said[1:]
        if channel == bytes((Channel.STDIN,)) and self._input is not None:
            await self._input.write(data)
        elif channel == bytes((Channel.CLOSE,)) and data == bytes((Channel.STDIN,)) and self._input is not None:
            self._input.close()
        elif channel == bytes((Channel.RESIZE,)) and self._terminal >= 0:
            with suppress(DecodeError, KeyError, TypeError, ValueError):
                size = decode_json(data)
                resize(self._terminal, int(size["Width"]), int(size["Height"]))

    async def _speak(self, channel: Channel, pipe: OutputPipe) -> None:
        while data := await pipe.chunk():
            self._socket.send(message(channel, data))
            await self._socket.drain()

    def _close(self) -> None:
        for pipe in self._outputs.values():
            pipe.close()
        if self._input is not None:
            self._input.close()
        self._socket.close()
