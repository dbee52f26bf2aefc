"""Real kubectl with a served local cluster: the daily commands for workloads."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from steersman.apiserver.access.authentication import ADMIN
from steersman.apiserver.local import local_server
from steersman.clock import RealClock
from steersman.concurrency import background, wait_ready
from steersman.localcluster.local_cluster import local_operators
from steersman.manager.manager import Manager, ManagerOptions
from steersman.transport.in_memory import InMemoryTransport
from tests.client.real_clients.conftest import BIN

_PATIENCE = 30.0
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: one}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: one}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: one}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: work}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: one}]}
"""


class Kubectl:
    """kubectl with an empty home directory."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        self._environment = {"HOME": str(home), "KUBECONFIG": str(kubeconfig), "PATH": path}
        self._clock = RealClock()

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run a command that must succeed, and return its output."""
        process = await asyncio.create_subprocess_exec(
            str(BIN / "kubectl"),
            *arguments,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with self._clock.timeout(_PATIENCE):
                output, _ = await process.communicate(stdin.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        text = output.decode()
        assert process.returncode == 0, f"kubectl {' '.join(arguments)}:\n{text}"
        return text


@asynccontextmanager
async def served_cluster(folder: Path) -> AsyncIterator[Kubectl]:
    """Serve a cluster with controllers, scheduler and nodes, and return kubectl for it."""
    clock = RealClock()
    async with local_server(clock=clock) as server:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_bytes(server.access.kubeconfig())
        transport = InMemoryTransport(server.api.acting_as(ADMIN), clock=clock)
        manager = Manager(local_operators(), transport, ManagerOptions(grace=1.0), clock=clock)
        async with background(manager.run(), name="manager") as task:
            await wait_ready(manager.wait_ready(), task)
            yield Kubectl(kubeconfig, folder)
            task.cancel()
            await asyncio.wait({task})
        await transport.close()


async def test_kubectl_rolls_workloads_forward_and_back(tmp_path: Path) -> None:
    """Status, restart, history, undo, scale and the three ways to delete: as on a real cluster."""
    async with served_cluster(tmp_path) as kubectl:
        await kubectl("apply", "-f", "-", stdin=WEB)
        rolled_out = await kubectl("rollout", "status", "deploy/web", "sts/db", "ds/agent", "--timeout=20s")
        assert 'deployment "web" successfully rolled out' in rolled_out
        assert "partitioned roll out complete: 2 new pods have been updated" in rolled_out
        assert 'daemon set "agent" successfully rolled out' in rolled_out
        await kubectl("wait", "--for=condition=complete", "job/work", "--timeout=20s")

        await kubectl("set", "image", "deploy/web", "main=two")
        await kubectl("rollout", "status", "deploy/web", "--timeout=20s")
        await kubectl("rollout", "restart", "deploy/web", "ds/agent")
        await kubectl("rollout", "status", "deploy/web", "ds/agent", "--timeout=20s")
        history = await kubectl("rollout", "history", "deploy/web")
        assert [line.split()[0] for line in history.splitlines() if line[:1].isdigit()] == ["1", "2", "3"]
        await kubectl("rollout", "undo", "deploy/web", "--to-revision=1")
        await kubectl("rollout", "status", "deploy/web", "--timeout=20s")
        image = await kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.containers[0].image}")
        assert image == "one one"
        history = await kubectl("rollout", "history", "deploy/web")
        assert [line.split()[0] for line in history.splitlines() if line[:1].isdigit()] == ["2", "3", "4"]

        await kubectl("scale", "deploy/web", "--replicas=4")
        await kubectl("wait", "--for=jsonpath={.status.availableReplicas}=4", "deploy/web", "--timeout=20s")
        await kubectl("delete", "deploy/web", "--cascade=orphan")
        orphans = await kubectl("get", "rs,pods", "-l", "app=web", "-o", "name")
        assert orphans.count("replicaset") == 3
        assert orphans.count("pod/") == 4
        await kubectl("delete", "rs", "-l", "app=web", "--cascade=foreground")
        assert await kubectl("get", "pods", "-l", "app=web", "-o", "name") == ""
        await kubectl("delete", "sts/db", "job/work")
        await kubectl("wait", "--for=delete", "pod/db-0", "pod/db-1", "--timeout=20s")
