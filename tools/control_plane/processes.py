"""A running control plane: etcd, kube-apiserver and, if asked, kube-controller-manager, on free loopback ports."""

import os
import secrets
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tools.control_plane.binaries import Binaries

START_SECONDS = 90
#: Every request is logged once: reads without their content, writes with the body of the request.
_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: Metadata, verbs: [get, list, watch]}
- {level: Request}
"""
STOP_SECONDS = 10


class StartError(Exception):
    """A program did not become ready; the message ends with its last output."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ControlPlane:
    """Starts on entry and stops on exit; all its files are in one temporary folder."""

    def __init__(self, binaries: Binaries, *, controllers: bool) -> None:
        self._binaries = binaries
        self._controllers = controllers
        self._processes: list[subprocess.Popen[bytes]] = []
        self._port = _free_port()
        self._token = secrets.token_hex(16)
        self.url = f"https://127.0.0.1:{self._port}"

    @property
    def pids(self) -> list[int]:
        """The running processes."""
        return [process.pid for process in self._processes]

    def __enter__(self) -> Self:
        # Ctrl-C in pytest must not reach the servers first, so they get their own process groups below.
        self._folder = tempfile.TemporaryDirectory(prefix="control-plane-")
        self._path = Path(self._folder.name)
        self.kubeconfig = self._path / "kubeconfig"
        signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        try:
            self._start_etcd()
            self._start_apiserver()
            if self._controllers:
                self._start_controllers()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._path / f"{program}.log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - the programs we built
                [self._binaries[program], *arguments], stdout=log, stderr=log, start_new_session=True
            )
        self._processes.append(process)
        return process

    def _start_etcd(self) -> None:
        self._etcd = f"http://127.0.0.1:{_free_port()}"
        peer = f"http://127.0.0.1:{_free_port()}"
        etcd = self._start(
            "etcd",
            f"--data-dir={self._path / 'etcd'}",
            f"--listen-client-urls={self._etcd}",
            f"--advertise-client-urls={self._etcd}",
            f"--listen-peer-urls={peer}",
            "--unsafe-no-fsync",
        )
        self._wait_ready(etcd, "etcd", f"{self._etcd}/health")

    def _start_apiserver(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        (self._path / "service-accounts.key").write_bytes(key)
        self.audit_log = self._path / "audit.log"
        (self._path / "audit-policy.yaml").write_text(_AUDIT_POLICY)
        (self._path / "tokens.csv").write_text(f"{self._token},admin,admin,system:masters\n")
        apiserver = self._start(
            "kube-apiserver",
            f"--etcd-servers={self._etcd}",
            f"--secure-port={self._port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self._path / 'certificates'}",
            f"--token-auth-file={self._path / 'tokens.csv'}",
            f"--service-account-key-file={self._path / 'service-accounts.key'}",
            f"--service-account-signing-key-file={self._path / 'service-accounts.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            # Without controllers no namespace has accounts, so that no pod could be created.
            *(() if self._controllers else ("--disable-admission-plugins=ServiceAccount",)),
            "--allow-privileged=true",
            f"--audit-log-path={self.audit_log}",
            f"--audit-policy-file={self._path / 'audit-policy.yaml'}",
        )
        self._wait_ready(apiserver, "kube-apiserver", f"{self.url}/readyz")
        self._write_kubeconfig()

    def _start_controllers(self) -> None:
        port = _free_port()
        controllers = self._start(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self._path / 'controller-certificates'}",
            f"--service-account-private-key-file={self._path / 'service-accounts.key'}",
            f"--root-ca-file={self._path / 'certificates' / 'apiserver.crt'}",
            "--use-service-account-credentials=false",
        )
        self._wait_ready(controllers, "kube-controller-manager", f"https://127.0.0.1:{port}/healthz")

    def _write_kubeconfig(self) -> None:
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: control-plane\n"
            f"clusters: [{{name: control-plane, cluster: {{server: '{self.url}', "
            f"certificate-authority: '{self._path / 'certificates' / 'apiserver.crt'}'}}}}]\n"
            f"users: [{{name: admin, user: {{token: '{self._token}'}}}}]\n"
            "contexts: [{name: control-plane, context: {cluster: control-plane, user: admin, namespace: default}}]\n"
        )

    def _wait_ready(self, process: subprocess.Popen[bytes], program: str, url: str) -> None:
        # The servers create their certificates while they start, so only readiness is checked here.
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self._token}"})  # noqa: S310 - our own loopback address
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urllib.request.urlopen(request, context=trusting, timeout=2) as answer:  # noqa: S310 - same
                    if answer.status == 200:  # noqa: PLR2004 - OK
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.1)  # noqa: TID251 - a tool for people, outside the library
        log = (self._path / f"{program}.log").read_text(errors="replace")
        raise StartError(f"{program} did not become ready; it said last:\n{log[-2000:]}")

    def _stop(self) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in reversed(self._processes):
            try:
                process.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._folder.cleanup()
