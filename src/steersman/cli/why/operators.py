"""Finds running operators and asks them: on this machine by their private sockets, in a cluster through port-forwards.

An operator in a cluster answers on a loopback port of its pod: users with permission to forward ports of that pod can
ask it, and so can the other containers of the pod.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from steersman.client.client import Client
from steersman.errors import Forbidden, SteersmanError
from steersman.history.recordings import Recording
from steersman.history.records import ObjectView
from steersman.history.state import ObjectSummary, Overview
from steersman.kinds.core_v1 import Pod
from steersman.manager.history_app import HISTORY_PORT

T = TypeVar("T")

#: The pods of operators that `steer deploy` or the manifests have made.
PODS = "app.kubernetes.io/managed-by=steer"
#: Seconds to wait for an answer.
_PATIENCE = 10.0
_LARGEST = 64 * 1024 * 1024


class NoOperatorAnswer(SteersmanError):  # noqa: N818 - named as the fact, like the rest of the tree
    """An operator could not be queried, or has no answer."""


class UnknownKind(NoOperatorAnswer):
    """An operator does not reconcile a kind."""

    def __init__(self, place: str, kinds: str) -> None:
        super().__init__(f"{place} reconciles {kinds}")


class ByteStream(Protocol):
    """A connection."""

    async def send(self, data: bytes) -> None:
        """Send bytes."""

    async def receive(self) -> bytes:
        """Wait for bytes; empty at the end."""


@dataclass(frozen=True, slots=True)
class RunningOperator:
    """An operator that can be asked."""

    #: Where it runs, for people.
    place: str
    connect: Callable[[], AbstractAsyncContextManager[ByteStream]]
    #: The namespace of its pod; empty on this machine.
    namespace: str = ""
    #: The cluster that is asked about, if the operator works in several.
    cluster: str = ""

    async def clusters(self) -> "list[RunningOperator]":
        """Ask in which clusters the operator works; return it once for each."""
        names = await self._get("/clusters", list[str])
        return [replace(self, place=f"{self.place} in cluster {name}", cluster=name) for name in names] or [self]

    async def overview(self) -> Overview:
        """Ask for the state of the whole."""
        return await self._get("/overview", Overview)

    async def summaries(self) -> list[ObjectSummary]:
        """Ask for every reconciled object."""
        return await self._get("/objects", list[ObjectSummary])

    async def view(self, resource: str, namespace: str, name: str) -> ObjectView:
        """Ask for one object; raises ``NoOperatorAnswer`` if the operator does not reconcile its kind."""
        query = urlencode({"resource": resource, "namespace": namespace, "name": name})
        return await self._get(f"/object?{query}", ObjectView)

    async def recordings(self, resource: str, namespace: str, name: str) -> list[Recording]:
        """Ask for what the newest reconciles of an object read and sent; raises ``NoOperatorAnswer`` without any."""
        query = urlencode({"resource": resource, "namespace": namespace, "name": name})
        return await self._get(f"/recordings?{query}", list[Recording])

    async def _get(self, path: str, kind: type[T]) -> T:
        if self.cluster:
            path += f"{'&' if '?' in path else '?'}{urlencode({'cluster': self.cluster})}"
        try:
            async with asyncio.timeout(_PATIENCE), self.connect() as stream:
                status, body = await _exchange(stream, path)
        except (OSError, TimeoutError, HTTPException) as error:
            reason = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
            raise NoOperatorAnswer(f"the operator at {self.place} does not answer: {reason}") from None
        except NoOperatorAnswer:
            raise
        except Forbidden:
            raise NoOperatorAnswer(
                f"you have no permission to forward ports in namespace {self.namespace} (`get` and `create` on "
                "pods/portforward), by which the operator is asked"
            ) from None
        except SteersmanError as error:  # the API server does not forward the port
            raise NoOperatorAnswer(f"the operator at {self.place} cannot be asked: {error}") from None
        try:
            if status != 200:  # noqa: PLR2004 - OK
                said = msgspec.json.decode(body, type=dict[str, str])
                raise UnknownKind(self.place, said["kinds"]) if "kinds" in said else NoOperatorAnswer(said["error"])
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, KeyError):
            raise NoOperatorAnswer(
                f"the server at {self.place} is not an operator with this version of Steersman"
            ) from None


async def ask_all(
    operators: Sequence[RunningOperator], ask: Callable[[RunningOperator], Coroutine[Any, Any, T]]
) -> tuple[list[T], list[NoOperatorAnswer]]:
    """Ask all operators at the same time; return the answers in their order, and why others did not answer."""

    async def one(operator: RunningOperator) -> T | NoOperatorAnswer:
        try:
            return await ask(operator)
        except NoOperatorAnswer as refusal:
            return refusal

    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(one(operator), name=f"ask/{operator.place}") for operator in operators]
    results = [task.result() for task in asked]
    refusals = [result for result in results if isinstance(result, NoOperatorAnswer)]
    return [result for result in results if not isinstance(result, NoOperatorAnswer)], refusals


async def in_each_cluster(
    operators: Sequence[RunningOperator], cluster: str | None
) -> tuple[list[RunningOperator], list[NoOperatorAnswer]]:
    """Return operators once for each cluster that they work in, or only for that one."""
    found, refusals = await ask_all(operators, RunningOperator.clusters)
    all_clusters = [one for some in found for one in some]
    return [one for one in all_clusters if cluster in (None, one.cluster)], refusals


async def _exchange(stream: ByteStream, path: str) -> tuple[int, bytes]:
    await stream.send(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    received = bytearray()
    while data := await stream.receive():
        received += data
        if len(received) > _LARGEST:
            raise NoOperatorAnswer(f"the answer is larger than {_LARGEST >> 20} MiB")
    response = HTTPResponse(_Received(bytes(received)))  # type: ignore[arg-type]  # all it asks of a socket
    response.begin()
    return response.status, response.read()


class _Received:
    """Received bytes, as the part of a socket that `HTTPResponse` needs."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> BytesIO:
        del mode
        return BytesIO(self._data)


class _UnixStream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self) -> bytes:
        return await self._reader.read(64 * 1024)


def operator_at_socket(path: Path) -> RunningOperator:
    """Return the operator that listens on a private socket."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[ByteStream]:
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            yield _UnixStream(reader, writer)
        finally:
            writer.close()

    return RunningOperator(f"process {path.stem}", connect)


def operator_in_pod(client: Client, pod: Pod) -> RunningOperator:
    """Return the operator that runs in a pod."""
    return RunningOperator(f"pod {pod.key}", lambda: client.open_port(pod, HISTORY_PORT), pod.namespace)


async def operators_in_cluster(client: Client, namespace: str | None) -> list[RunningOperator]:
    """Return the operators in the pods of a cluster that run and belong to deployments of ours."""
    pods = [pod async for pod in client.list(Pod, namespace=namespace or "", label_selector=PODS)]
    return [operator_in_pod(client, pod) for pod in pods if pod.status.phase == "Running" and not pod.is_deleting]
