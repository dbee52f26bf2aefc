"""A cluster with a process node: real processes of this machine, ended with each test."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from steersman import meta
from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.localcluster.process_node.node import ProcessNode
from steersman.localcluster.process_node.options import ProcessNodeOptions
from steersman.testing.cluster import Cluster

IMAGES: dict[str, dict[str, Any]] = {
    "python:*": {"command": [sys.executable, "-I", "-S", "-c"], "programs": {"python": sys.executable, "sh": "/bin/sh"}}
}
#: Runs forever, and stops cleanly.
IDLE = "import time; print('up', flush=True); time.sleep(600)"

StartNode = Callable[[], AbstractAsyncContextManager[ProcessNode]]


def script(text: str, *, name: str = "main", **fields: Any) -> Container:
    """Return a container that runs a few lines of Python."""
    return Container(name=name, image="python:3", args=[text], **fields)


def placed(name: str, *containers: Container, **spec: Any) -> Pod:
    """Return a pod that is already assigned to the node."""
    spec = {"node_name": "process", "termination_grace_period_seconds": 5, **spec}
    return Pod(meta(name, namespace="default"), spec=PodSpec(containers=list(containers), **spec))


@pytest.fixture
def start_node(cluster: Cluster, tmp_path: Path) -> StartNode:
    """Return a function that runs a node of the test's cluster, always on the same directory."""

    @asynccontextmanager
    async def start() -> AsyncIterator[ProcessNode]:
        options = ProcessNodeOptions(images=IMAGES, data=tmp_path / "node", stop_seconds=2.0)
        node = ProcessNode(options)
        async with node.running(cluster.client, cluster.clock):
            yield node

    return start
