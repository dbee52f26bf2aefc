"""From an empty folder to an operator in a cluster, as a new user goes: the seeds' story of CustomPod."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.conftest import KUBECTL, RunningServer

CLASSES = '''
"""CustomPod: keeps a number of pods."""

from typing import Annotated

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Column, Maximum, Minimum, Scale


class CustomPodSpec(Model):
    """What a user asks for."""

    replicas: Annotated[int, Minimum(0), Maximum(100)]


class CustomPodStatus(Status):
    """What there is."""

    replicas: int = 0
    pod_names: list[str] = []


@custom_resource(
    "zhhnzw.mock.com/v1",
    scale=Scale(spec=".spec.replicas", status=".status.replicas"),
    columns=[Column("Replicas", ".status.replicas")],
)
class CustomPod(Resource[CustomPodSpec, CustomPodStatus]):
    """Keeps a number of pods running."""
'''
RECONCILER = '''
"""Keeps as many pods as a CustomPod says."""

from steersman import Context, meta
from steersman.kinds.core_v1 import Container, Pod, PodSpec

from custompod.api.custom_pod_v1 import CustomPod
from custompod.operator import operator


@operator.reconciler(CustomPod, owns=[Pod])
async def reconcile(custom_pod: CustomPod, ctx: Context[CustomPod]) -> None:
    """Make and delete pods until there are as many as wished."""
    pods = sorted(ctx.owned(Pod), key=lambda pod: pod.name)
    for _ in range(custom_pod.spec.replicas - len(pods)):
        template = PodSpec(containers=[Container(name="main", image="busybox")])
        await ctx.create(Pod(meta(generate_name=f"{custom_pod.name}-"), spec=template))
    for pod in pods[custom_pod.spec.replicas :]:
        await ctx.delete(pod)
    custom_pod.status.replicas = len(pods)
    custom_pod.status.pod_names = [pod.name for pod in pods]
'''
SAMPLE = """
apiVersion: zhhnzw.mock.com/v1
kind: CustomPod
metadata: {name: sample, namespace: default}
spec: {replicas: 1}
"""


class User:
    """Somebody at a terminal, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def steer(self, *arguments: str) -> str:
        """Run steer; it must succeed."""
        return self._run(sys.executable, "-m", "steersman.cli", *arguments)

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl; it must succeed."""
        return self._run(KUBECTL, *arguments)

    def write(self, name: str, text: str) -> None:
        """Save a file in an editor."""
        (self._folder / name).write_text(text.lstrip())

    @contextmanager
    def running(self, *arguments: str) -> Iterator[None]:
        """Leave a command running in another terminal."""
        command = [sys.executable, "-m", "steersman.cli", *arguments]
        with subprocess.Popen(command, cwd=self._folder, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - our own interpreter
            try:
                yield
            finally:
                process.terminate()
                assert process.wait(20) == 0

    def pods(self) -> list[str]:
        """Name the pods that are not on their way out."""
        items = json.loads(self.kubectl("get", "pods", "-o", "json"))["items"]
        return [item["metadata"]["name"] for item in items if "deletionTimestamp" not in item["metadata"]]

    def _run(self, *arguments: str) -> str:
        answer = subprocess.run(arguments, cwd=self._folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own tools
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout


def eventually(condition: Callable[[], bool]) -> None:
    """Look again until it is so; each look is a process of its own."""
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until


def test_a_new_user_gets_from_an_empty_folder_to_a_cluster(tmp_path: Path, server: RunningServer) -> None:
    """One to three to one pods, scaled, deleted, and then deployed, all by commands that a user types."""
    del server
    folder = tmp_path / "work"
    folder.mkdir()
    user = User(folder)
    user.steer("init", "custompod", "--domain", "mock.com")
    user.steer("create", "api", "--group", "zhhnzw", "--version", "v1", "--kind", "CustomPod")
    user.write("custompod/api/custom_pod_v1.py", CLASSES)
    user.write("custompod/reconcilers/custom_pod_reconciler.py", RECONCILER)
    user.write("samples/zhhnzw_custom_pod_v1.yaml", SAMPLE)

    user.steer("install", "--yes")
    with user.running("run"):
        user.steer("samples", "apply", "--yes")
        eventually(lambda: len(user.pods()) == 1)
        user.kubectl("patch", "custompod", "sample", "--type=merge", "-p", '{"spec":{"replicas":3}}')
        eventually(lambda: len(user.pods()) == 3)
        user.kubectl("scale", "custompod", "sample", "--replicas=1")
        eventually(lambda: len(user.pods()) == 1)
        eventually(lambda: user.kubectl("get", "custompod", "sample").split()[-2:] == ["sample", "1"])
        user.kubectl("delete", "custompod", "sample")

    user.steer("manifests")
    user.steer("manifests", "--check")
    assert "pods" in (folder / "manifests/permissions.yaml").read_text()
    user.steer("deploy", "--yes", "--image", "registry.example.com/custompod:1.0")
    assert "custompod" in user.kubectl("get", "deployments", "-n", "custompod-system")
    user.steer("undeploy", "--yes")
    user.steer("uninstall", "--yes")
