"""From an empty folder to an operator in a cluster, as a new user does it with CustomPod."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import RunningServer
from tests.support.base_image import base_image
from tests.support.kubectl import KUBECTL
from tests.support.terminal import Dev

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
    """A user at a terminal, in a folder; kubectl and steer use the cluster of one kubeconfig."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "HOME": str(folder.parent)}

    def use(self, kubeconfig: Path) -> None:
        """Set KUBECONFIG."""
        self._environment["KUBECONFIG"] = str(kubeconfig)

    def steer(self, *arguments: str) -> str:
        """Run steer; it must succeed."""
        return self._run(sys.executable, "-m", "steersman.cli", *arguments)

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl; it must succeed."""
        return self._run(KUBECTL, *arguments)

    def write(self, name: str, text: str) -> None:
        """Save a file."""
        (self._folder / name).write_text(text.lstrip())

    @contextmanager
    def running(self, *arguments: str) -> Iterator[None]:
        """Run a command in another terminal during the block."""
        command = [sys.executable, "-m", "steersman.cli", *arguments]
        with subprocess.Popen(  # noqa: S603 - our own interpreter
            command, cwd=self._folder, env=self._environment, stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield
            finally:
                process.terminate()
                assert process.wait(20) == 0

    def wait_replicas(self, count: int) -> None:
        """Wait until the status has that number of replicas, and check the pods."""
        self.kubectl("wait", "custompod/sample", f"--for=jsonpath={{.status.replicas}}={count}", "--timeout=30s")
        assert len(json.loads(self.kubectl("get", "pods", "-o", "json"))["items"]) == count

    def _run(self, *arguments: str) -> str:
        answer = subprocess.run(  # noqa: S603 - our own tools
            arguments, cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def user(folder: Path) -> User:
    """Return a user who has created and edited a project there."""
    user = User(folder)
    user.steer("init", "custompod", "--domain", "mock.com")
    user.steer("create", "api", "--group", "zhhnzw", "--version", "v1", "--kind", "CustomPod")
    user.write("custompod/api/custom_pod_v1.py", CLASSES)
    user.write("custompod/reconcilers/custom_pod_reconciler.py", RECONCILER)
    user.write("samples/zhhnzw_custom_pod_v1.yaml", SAMPLE)
    return user


def test_a_new_user_gets_from_an_empty_folder_to_a_running_operator(folder: Path, user: User) -> None:
    """One pod, three, one and none, with the commands of two terminals; only Python and kubectl are needed."""
    user.use(folder / ".steer/kubeconfig")
    with Dev(folder) as dev:
        dev.wait_for("custompod is running")
        user.kubectl("apply", "-f", "samples")
        user.wait_replicas(1)
        user.kubectl("patch", "custompod", "sample", "--type=merge", "-p", '{"spec":{"replicas":3}}')
        user.wait_replicas(3)
        user.kubectl("scale", "custompod", "sample", "--replicas=1")
        user.wait_replicas(1)
        assert user.kubectl("get", "custompod", "sample").split()[-2:] == ["sample", "1"]
        user.kubectl("delete", "custompod", "sample", "--cascade=foreground")
        assert user.kubectl("get", "pods") == ""


def test_a_new_users_operator_runs_against_a_cluster(folder: Path, user: User, server: RunningServer) -> None:
    """The CRDs are in the cluster, the operator runs here; the manifests list its permissions."""
    user.use(server.kubeconfig)
    user.steer("install", "--yes")
    with user.running("run"):
        user.steer("samples", "apply", "--yes")
        user.wait_replicas(1)
        user.kubectl("scale", "custompod", "sample", "--replicas=2")
        user.wait_replicas(2)
    user.steer("manifests")
    user.steer("manifests", "--check")
    assert "pods" in (folder / "manifests/permissions.yaml").read_text()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the made-up base image is one for x86_64")
def test_a_new_users_image_is_built_pushed_and_deployed(
    folder: Path, user: User, server: RunningServer, registry: str, tmp_path: Path
) -> None:
    """By digest: the Deployment refers to exactly the image in the registry."""
    user.use(server.kubeconfig)
    settings = (folder / "pyproject.toml").read_text()
    user.write("pyproject.toml", re.sub(r'"steersman>=[^"]*"', '"click>=8"', settings))  # small, never edited
    user.steer("image", "build", "--base", str(base_image(tmp_path / "base").root))
    pushed = re.search(r"steer deploy --image (\S+)", user.steer("image", "push", f"{registry}/custompod:1.0"))
    assert pushed is not None
    user.steer("deploy", "--yes", "--no-wait", "--image", pushed[1])
    image = "jsonpath={.items[*].spec.template.spec.containers[*].image}"
    assert user.kubectl("get", "deployments", "-n", "custompod-system", "-o", image) == pushed[1]
    assert "@sha256:" in pushed[1]
    user.steer("undeploy", "--yes")
    user.steer("uninstall", "--yes")
