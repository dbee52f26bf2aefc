"""The real kube-controller-manager against the embedded server: ``make controllers SECONDS=300``.

    python -m tools.controllers --seconds 300

Starts `steer server --no-controllers` and a kube-controller-manager, and lives through the life of workloads again and
again: a Deployment becomes a ReplicaSet and Pods, is scaled and deleted with all that it owns; a Job gets its Pod; a
namespace goes with everything in it. Prints the errors in the log of kube-controller-manager; without any, and with
every life lived to its end, the exit code is 0.
"""

import argparse
import asyncio
import base64
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import RealClock
from steersman.kinds.apps_v1 import Deployment, DeploymentSpec, ReplicaSet
from steersman.kinds.batch_v1 import Job, JobSpec
from steersman.kinds.core_v1 import ConfigMap, Container, Namespace, Pod, PodSpec, PodTemplateSpec, ServiceAccount
from steersman.kinds.meta_v1 import LabelSelector
from steersman.objects.meta import meta
from steersman.objects.resource import KubeObject
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport
from tools.control_plane.binaries import Binaries, MissingError

_CLOCK = RealClock()
#: Seconds within which each step must happen.
_WITHIN = 60.0
_START_WITHIN = 30.0
#: Patterns of log errors that the server does not cause, with the reason.
_EXPECTED: dict[str, str] = {
    r"The manifest file is empty": "said at every start, whatever the server",
    r"is not as new as written version": "a retry until its cache has its own writes; a kube-apiserver gets it, too",
    r'"Failed to get node" err="node \\"\\" not found"': "it looks for the node of a pod that never had one",
    r"legacy-service-account-token-tracking\\\" not found": "it looks for legacy tokens, which are never made here",
}


class NotLivedError(Exception):
    """A step did not happen in time."""


async def _until(what: str, holds: Callable[[], Awaitable[bool]]) -> None:
    deadline = _CLOCK.monotonic() + _WITHIN
    while not await holds():
        if _CLOCK.monotonic() > deadline:
            raise NotLivedError(f"not within {_WITHIN:g} s: {what}")
        await _CLOCK.sleep(0.1)


def _template(name: str, policy: str) -> PodTemplateSpec:
    containers = [Container(name="main", image="example.org/none:1")]
    spec = PodSpec(containers=containers, restart_policy=policy)
    return PodTemplateSpec(metadata=meta(name, labels={"app": name}), spec=spec)


class Life:
    """One namespace with its workloads, from creation to deletion."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def _count(self, kind: type[KubeObject]) -> int:
        return len([obj async for obj in self._client.list(kind)])

    async def _becomes(self, kind: type[KubeObject], count: int) -> None:
        async def holds() -> bool:
            return await self._count(kind) == count

        await _until(f"{count} x {kind.__name__}", holds)

    async def live(self) -> None:
        """Run all steps; raise if one does not happen in time."""
        client, namespace = self._client, self._client.namespace
        await client.create(Namespace(meta(namespace)))
        await self._becomes(ServiceAccount, 1)
        await self._becomes(ConfigMap, 1)
        selector = LabelSelector(match_labels={"app": "web"})
        spec = DeploymentSpec(replicas=3, selector=selector, template=_template("web", "Always"))
        await client.create(Deployment(meta("web"), spec=spec))
        await self._becomes(ReplicaSet, 1)
        await self._becomes(Pod, 3)
        await client.scale(Ref(Deployment, "web"), 5)
        await self._becomes(Pod, 5)
        await client.create(Job(meta("once"), spec=JobSpec(template=_template("once", "Never"))))
        await self._becomes(Pod, 6)
        await client.delete(Ref(Deployment, "web"))
        await self._becomes(ReplicaSet, 0)
        await self._becomes(Pod, 1)
        await client.delete(Ref(Namespace, namespace))

        async def gone() -> bool:
            return await client.try_get(Namespace, namespace) is None

        await _until("the namespace is gone", gone)


@contextmanager
def _running(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:  # noqa: S603 - ours
        try:
            yield process
        finally:
            process.terminate()


def _authority(kubeconfig: Path) -> bytes:
    cluster = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]
    return base64.b64decode(cluster["certificate-authority-data"])


def _signing_key() -> bytes:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _errors(log: Path) -> list[str]:
    """Return the errors of a log in the format of klog."""
    lines = log.read_text(errors="replace").splitlines()
    found = [line for line in lines if re.match(r"[EF]\d{4} |panic:|fatal error:", line)]
    return [line for line in found if not any(re.search(pattern, line) for pattern in _EXPECTED)]


async def _lives(kubeconfig: Path, seconds: float) -> int:
    end, count = _CLOCK.monotonic() + seconds, 0
    transport = HttpTransport(ClusterConfig.from_kubeconfig(str(kubeconfig)), clock=_CLOCK)
    try:
        while count == 0 or _CLOCK.monotonic() < end:
            await Life(Client(transport, namespace=f"life-{count}", field_manager="life")).live()
            count += 1
            await _CLOCK.sleep(min(5.0, max(0.0, end - _CLOCK.monotonic())))
    finally:
        await transport.close()
    return count


async def _wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = _CLOCK.monotonic() + _START_WITHIN
    while not path.exists():  # noqa: ASYNC240 - nothing else runs yet
        if process.poll() is not None or _CLOCK.monotonic() > deadline:
            raise NotLivedError("the embedded server did not start")
        await _CLOCK.sleep(0.05)


async def _run(binaries: Binaries, folder: Path, seconds: float) -> int:
    kubeconfig, log = folder / "kubeconfig", folder / "controllers.log"
    steer = ["-m", "steersman.cli", "server", "--no-controllers", "--kubeconfig", str(kubeconfig)]
    with _running(folder / "server.log", sys.executable, *steer) as server:
        await _wait_for(kubeconfig, server)
        (folder / "ca.crt").write_bytes(_authority(kubeconfig))
        (folder / "accounts.key").write_bytes(_signing_key())
        options = [
            f"--kubeconfig={kubeconfig}",
            f"--root-ca-file={folder / 'ca.crt'}",
            f"--service-account-private-key-file={folder / 'accounts.key'}",
            f"--cert-dir={folder / 'certificates'}",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
            "--use-service-account-credentials=false",
        ]
        with _running(log, binaries["kube-controller-manager"], *options):
            try:
                count = await _lives(kubeconfig, seconds)
            except NotLivedError as error:
                print(f"{error}; last output of kube-controller-manager:\n{log.read_text(errors='replace')[-3000:]}")
                return 1
    errors = _errors(log)
    print(f"{count} lives in {seconds:g} s with kube-controller-manager {binaries.kubernetes}; {len(errors)} errors")
    for line in errors[:20]:
        print(f"  {line[:400]}")
    return 1 if errors else 0


def main() -> int:
    """Run, and return the exit code."""
    parser = argparse.ArgumentParser(prog="controllers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    options = parser.parse_args()
    try:
        binaries = Binaries.ensure()
    except MissingError as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="controllers-") as folder:
        return asyncio.run(_run(binaries, Path(folder), options.seconds))


if __name__ == "__main__":
    sys.exit(main())
