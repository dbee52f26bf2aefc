"""The first process inside of a cluster's namespaces: it sets them up and keeps the programs running.

When this process ends the kernel ends all others in its PID namespace, and with the last of them go mounts, interfaces
and packet filters. It ends by itself as soon as its standard input is closed: the supervisor holds the other side, so
this happens however the supervisor ends.
"""

import asyncio
import json
import os
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from steersman.clock import RealClock
from steersman.json_types import JsonObject
from steersman.scaffold.image.layout import Layout
from steersman.scaffold.image.reference import Reference
from steersman.scaffold.image.registry import Registry
from steersman.transport.config import Anonymous
from tools.real_cluster.cgroups import hand_down_all, mount_commands
from tools.real_cluster.services import (
    NODE,
    NODE_ADDRESS,
    PAUSE,
    REGISTRY,
    SERVER,
    Place,
    commands,
    write_certificates,
    write_configuration,
)

_PATIENCE: Final = 300.0
#: Settings that the kubelet makes for the whole machine, and the values that it wants to see. It sees files instead.
SETTINGS: Final = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


class Failed(Exception):  # noqa: N818 - it tells what failed
    """The cluster cannot start."""


def _run(*command: str) -> None:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own commands
    if answer.returncode:
        raise Failed(f"{' '.join(command)}: {answer.stderr.strip()}")


def _bind(source: Path, target: str) -> None:
    _run("mount", "--bind", str(source), target)


class Node:
    """Sets up the namespaces and keeps the programs running."""

    def __init__(self, root: Path, packages: Path, images: Path) -> None:
        self._root = root
        self._packages = packages
        self._images = images
        self._commands: dict[str, list[str]] = {}
        #: The process of each program.
        self._running: dict[int, str] = {}
        self._begun = time.monotonic()

    def run(self) -> None:
        """Start everything, report it, then replace programs that end, for as long as the cluster lives."""
        self._isolate()
        self._connect()
        place = Place(self._root, self._packages, self._snapshotter())
        write_certificates(place)
        write_configuration(place)
        self._commands = dict(commands(place))
        self._report("namespaces and certificates")
        for name in ("containerd", "registry", "etcd", "kube-apiserver"):
            self._start(name)
        self._import_images()
        api = Api(place)
        self._wait("kube-apiserver", lambda: api.get("/readyz") is not None)
        self._report("kube-apiserver is ready")
        api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", _proxy_binding())
        for name in ("kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "coredns"):
            self._start(name)
        self._wait("kubelet", lambda: _is_ready(api.get(f"/api/v1/nodes/{NODE}")))
        self._report("the node is ready")
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._wait("kube-controller-manager", lambda: api.get(account) is not None)
        self._wait("coredns", lambda: _answers("http://127.0.0.1:8181/ready"))
        print("ready", flush=True)
        while True:
            self._replace(*os.waitpid(-1, 0))

    def _report(self, what: str) -> None:
        print(f"{time.monotonic() - self._begun:5.1f} s  {what}", flush=True)

    def _isolate(self) -> None:
        """Cover what the programs would change of the host."""
        # Pods must see mounts that are made later, such as volumes; the host must not.
        _run("mount", "--make-rprivate", "/")
        _run("mount", "--make-rshared", "/")
        settings = self._root / "settings"
        settings.mkdir()
        for name, value in SETTINGS.items():
            file = settings / name.replace("/", ".")
            file.write_text(f"{value}\n")
            if Path("/proc/sys", name).exists():
                _bind(file, f"/proc/sys/{name}")
        _run("mount", "-t", "sysfs", "sysfs", "/sys")
        for command in mount_commands(Path("/proc/self/cgroup").read_text()):
            _run(*command)
        hand_down_all()
        self._cover_fixed_paths()

    def _cover_fixed_paths(self) -> None:
        # Device plugins, network plugins and logs of pods have paths that cannot be configured.
        _run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
        for name in ("upper", "work", "netns"):
            Path("/run", name).mkdir()
        _run(
            "mount", "-t", "overlay", "-o", "lowerdir=/var/lib,upperdir=/run/upper,workdir=/run/work", "lib", "/var/lib"
        )
        logs = self._root / "var-log"
        logs.mkdir()
        _bind(logs, "/var/log")

    def _connect(self) -> None:
        """Create an address for the node that is not reachable from outside, and names for it."""
        _run("hostname", NODE)
        _run("ip", "link", "set", "lo", "up")
        # A bridge without ports: unlike a dummy device every kernel that runs containers has it.
        _run("ip", "link", "add", "node0", "type", "bridge")
        _run("ip", "address", "add", f"{NODE_ADDRESS}/24", "dev", "node0")
        _run("ip", "link", "set", "node0", "up")
        _run("ip", "route", "add", "default", "dev", "node0")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        (self._root / "no-nameservers").touch()
        for target, text in {
            "/etc/hosts": f"127.0.0.1 localhost\n{NODE_ADDRESS} {NODE}\n",
            "/etc/resolv.conf": f"nameserver {NODE_ADDRESS}\nsearch svc.cluster.local cluster.local\noptions ndots:5\n",
        }.items():
            file = self._root / Path(target).name
            file.write_text(text)
            if Path(target).exists():
                _bind(file, target)

    def _snapshotter(self) -> str:
        """Return how containers get their file systems: overlays do not work on every file system."""
        trial = self._root / "trial"
        for name in ("lower", "upper", "work", "merged"):
            (trial / name).mkdir(parents=True)
        options = f"lowerdir={trial}/lower,upperdir={trial}/upper,workdir={trial}/work"
        try:
            _run("mount", "-t", "overlay", "-o", options, "overlay", f"{trial}/merged")
        except Failed:
            return "native"
        _run("umount", f"{trial}/merged")
        return "overlayfs"

    def _import_images(self) -> None:
        """Put the image that every pod needs into the registry."""
        self._wait("registry", lambda: _answers(f"http://{REGISTRY}/v2/"))
        push_image(self._images / "pause", PAUSE)

    def _start(self, name: str) -> None:
        with (self._root / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - our own programs
                self._commands[name], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._running[process.pid] = name
        # Ended processes are awaited below, all in one place.
        process.returncode = 0

    def _replace(self, pid: int, status: int) -> None:
        """Start a program again that has ended; other processes are orphans and are ignored."""
        name = self._running.pop(pid, None)
        if name is None:
            return
        code = os.waitstatus_to_exitcode(status)
        with (self._root / "restarts.log").open("a") as log:
            log.write(f"{time.monotonic() - self._begun:.1f} s: {name} ended with {code}\n")
        time.sleep(0.5)  # noqa: TID251 - a tool for people, outside the library
        self._start(name)

    def _wait(self, name: str, is_ready: Callable[[], bool]) -> None:
        """Wait for a program; raise `Failed` with the end of its log if it does not become ready."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if is_ready():
                return
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid:
                self._replace(pid, status)
            time.sleep(0.1)  # noqa: TID251 - same
        log = (self._root / f"{name}.log").read_text(errors="replace")
        raise Failed(f"{name} did not become ready; its log ends with:\n{log[-3000:]}")


class Api:
    """The API server, as its administrator sees it."""

    def __init__(self, place: Place) -> None:
        self._context = ssl.create_default_context(cafile=str(place.pki / "ca.crt"))
        self._context.load_cert_chain(str(place.pki / "admin.crt"), str(place.pki / "admin.key"))

    def get(self, path: str) -> Any:
        """Return what is at a path; `None` if the server does not answer or has nothing there."""
        return self._send(urllib.request.Request(SERVER + path))  # noqa: S310 - our own loopback address

    def create(self, path: str, document: JsonObject) -> None:
        """Create an object."""
        request = urllib.request.Request(  # noqa: S310 - same
            SERVER + path, json.dumps(document).encode(), {"content-type": "application/json"}
        )
        if self._send(request) is None:
            raise Failed(f"{document['kind']} {document['metadata']['name']} could not be created")

    def _send(self, request: urllib.request.Request) -> Any:
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=5) as answer:  # noqa: S310 - same
                text = answer.read().decode()
        except OSError:
            return None
        return json.loads(text) if text.startswith("{") else text


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own loopback address
            return True
    except OSError:
        return False


def _is_ready(node: Any) -> bool:
    conditions = node["status"].get("conditions", ()) if node is not None else ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _proxy_binding() -> JsonObject:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "real-cluster:kube-proxy"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:node-proxier"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "system:kube-proxy"}],
    }


def push_image(layout: Path, reference: str) -> None:
    """Push an OCI layout to the cluster's registry."""
    registry = Registry(Reference.parse(reference), Anonymous(), clock=RealClock())
    asyncio.run(registry.push(Layout(layout), lambda _: None))


def _end_with_supervisor() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


def main() -> None:
    """Be the first process of a cluster: `node ROOT PACKAGES IMAGES`."""
    if os.getpid() != 1:
        sys.exit("this mounts over the folders of the machine: it runs only as the first process of its own namespaces")
    threading.Thread(target=_end_with_supervisor, daemon=True).start()
    try:
        Node(*map(Path, sys.argv[1:4])).run()
    except Failed as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
