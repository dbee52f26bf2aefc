"""`make demo`: a custom resource, its operator and a Kubernetes API, with nothing but Python, driven by real kubectl.

It plays the story of a CustomPod from one replica to three and back, kills a pod on the way, and ends by itself.
"""

import asyncio
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Annotated

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.apiserver.local import LocalOptions, local_server
from steersman.clock import RealClock
from steersman.concurrency import background, wait_ready
from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.manager.manager import Manager, ManagerOptions
from steersman.schema import Column, Maximum, Minimum, Scale
from steersman.schema.crd import crd_object
from steersman.transport.config import ClusterConfig
from steersman.transport.http import HttpTransport

SAMPLE = """\
apiVersion: zhhnzw.mock.com/v1
kind: CustomPod
metadata: {name: custompod-sample}
spec: {replicas: 1}
"""


class CustomPodSpec(Model):
    """What the user wants."""

    replicas: Annotated[int, Minimum(0), Maximum(100)]


class CustomPodStatus(Status):
    """What is."""

    replicas: int = 0
    pod_names: list[str] = []


@custom_resource(
    "zhhnzw.mock.com/v1",
    scale=Scale(spec=".spec.replicas", status=".status.replicas"),
    columns=[Column("Wanted", ".spec.replicas"), Column("Pods", ".status.replicas")],
)
class CustomPod(Resource[CustomPodSpec, CustomPodStatus]):
    """Keeps a number of pods running."""


operator = Operator("custompod")


@operator.reconciler(CustomPod, owns=[Pod])
async def reconcile(custom_pod: CustomPod, ctx: Context[CustomPod]) -> None:
    """Make as many pods as wanted, and say which there are."""
    pods = sorted(ctx.owned(Pod), key=lambda pod: pod.name)
    for _ in range(custom_pod.spec.replicas - len(pods)):
        template = PodSpec(containers=[Container(name="main", image="busybox", command=["sleep", "3600"])])
        await ctx.create(Pod(meta(generate_name=f"{custom_pod.name}-"), spec=template))
    for pod in pods[custom_pod.spec.replicas :]:
        await ctx.delete(pod)
    custom_pod.status.replicas = len(pods)
    custom_pod.status.pod_names = [pod.name for pod in pods]


class Stage:
    """Shows what a user would type and what comes back."""

    def __init__(self, kubeconfig: Path, manager: Manager) -> None:
        kubectl = Path(sysconfig.get_path("scripts")) / "kubectl"
        self._kubectl = str(kubectl) if kubectl.exists() else "kubectl"
        self._environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(kubeconfig.parent)}
        self._environment["KUBECONFIG"] = str(kubeconfig)
        self._manager = manager

    async def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run a kubectl command and show it."""
        shown = " ".join(arguments)
        print(f"\n\033[1m$ kubectl {shown}\033[0m" if sys.stdout.isatty() else f"\n$ kubectl {shown}", flush=True)

        def run() -> subprocess.CompletedProcess[str]:
            return subprocess.run(  # noqa: S603 - the kubectl of this environment
                [self._kubectl, *arguments],
                env=self._environment,
                input=stdin,
                text=True,
                capture_output=True,
                check=False,
            )

        done = await asyncio.to_thread(run)
        print((done.stdout + done.stderr).rstrip(), flush=True)
        if done.returncode:
            sys.exit(f"demo: kubectl {shown} failed")
        return done.stdout

    async def rest(self) -> None:
        """Wait until the operator has nothing left to do."""
        quiet = 0
        while quiet < 5:  # noqa: PLR2004 - looks in a row
            quiet = quiet + 1 if self._manager.is_idle else 0
            await RealClock().sleep(0.02)


def say(text: str) -> None:
    """Tell what comes next."""
    print(f"\n\033[36m# {text}\033[0m" if sys.stdout.isatty() else f"\n# {text}", flush=True)


async def story(stage: Stage) -> None:
    """Play it."""
    say("The operator has registered its kind. One object asks for one pod:")
    await stage.kubectl("apply", "-f", "-", stdin=SAMPLE)
    await stage.rest()
    await stage.kubectl("get", "custompods,pods")
    say("Three, please:")
    await stage.kubectl("scale", "custompod/custompod-sample", "--replicas=3")
    await stage.rest()
    names = (await stage.kubectl("get", "pods", "-o", "name")).split()
    say("Somebody kills a pod; the operator sees it and makes a new one:")
    await stage.kubectl("delete", names[0], "--now")
    await stage.rest()
    await stage.kubectl("get", "custompods,pods")
    say("The schema comes from the Python class, and the server enforces it:")
    await stage.kubectl("explain", "custompod.spec")
    say("One is enough after all:")
    await stage.kubectl("scale", "custompod/custompod-sample", "--replicas=1")
    await stage.rest()
    await stage.kubectl("get", "custompod", "custompod-sample", "-o", "jsonpath={.status}")
    say("And away with it:")
    await stage.kubectl("delete", "custompod", "custompod-sample")


async def main() -> None:
    """Start the API server and the operator, play the story, stop both."""
    clock = RealClock()
    with tempfile.TemporaryDirectory() as folder:
        async with local_server(LocalOptions()) as server:
            kubeconfig = Path(folder) / "kubeconfig"
            kubeconfig.touch(mode=0o600)
            kubeconfig.write_bytes(server.access.kubeconfig())
            print(f"A Kubernetes API answers at {server.access.url}; the operator runs in this process.")
            transport = HttpTransport(ClusterConfig.from_kubeconfig(kubeconfig), clock=clock)
            manager = Manager([operator], transport, ManagerOptions(definitions=[crd_object(CustomPod)]), clock=clock)
            try:
                async with background(manager.run(), name="manager") as work:
                    await wait_ready(manager.wait_ready(), work)
                    await story(Stage(kubeconfig, manager))
            finally:
                await transport.close()
    print("\nThat was Steersman. The operator is thirty lines of tools/demo.py; README.md says where to go on.")


if __name__ == "__main__":
    asyncio.run(main())
