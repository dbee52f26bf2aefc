"""What a cluster could leave behind on its host."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tools.real_cluster.cgroups import hierarchies
from tools.real_cluster.node import SETTINGS
from tools.real_cluster.parts import Parts
from tools.real_cluster.supervisor import PREFIX, runs_folder

_PATIENCE: Final = 180.0
#: Settings of the machine that a cluster could change, beside those that its node hides from the kubelet.
_MORE_SETTINGS: Final = (
    "net/ipv4/ip_forward",
    "net/netfilter/nf_conntrack_max",
    "net/netfilter/nf_conntrack_tcp_timeout_established",
    "net/ipv4/conf/all/route_localnet",
)
_KUBECONFIG: Final = re.compile(r"kubeconfig: (\S+)")


def host_state() -> dict[str, list[str]]:
    """Return what of this host a cluster could change: it must be the same before and afterwards."""
    settings = (Path("/proc/sys", name) for name in (*SETTINGS, *_MORE_SETTINGS))
    fixed_paths = (Path("/var/lib/kubelet"), Path("/var/lib/cni"), Path("/var/log/pods"), Path("/run/containerd"))
    return {
        "mounts": sorted(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        "interfaces": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "settings": [f"{path}={path.read_text().strip()}" for path in settings if path.exists()],
        "fixed paths": [str(path) for path in fixed_paths if path.exists()],
    }


def cluster_state(supervisor: int, parts: Parts) -> dict[str, list[str]]:
    """Return the parts of one cluster that exist, by its supervisor; none after it has ended."""
    name = f"{PREFIX}{supervisor}"
    found = hierarchies(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
    return {
        "cgroups": [str(path) for one in found for path in one.mount.glob(f"**/{name}")],
        "processes": [path.parent.name for path in Path("/proc").glob("[0-9]*/cgroup") if name in _text(path)],
        "files": [str(path) for path in runs_folder(parts).glob(str(supervisor))],
    }


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # The process has ended.
        return ""


def left_behind(before: dict[str, list[str]], supervisor: int, parts: Parts) -> str:
    """Return what is left of a cluster that ends, after it had time to do so; empty if nothing is."""
    until = time.monotonic() + _PATIENCE
    while (left := _difference(before, supervisor, parts)) and time.monotonic() < until:
        time.sleep(0.1)  # noqa: TID251 - a tool for people, outside the library
    return left


def _difference(before: dict[str, list[str]], supervisor: int, parts: Parts) -> str:
    after = host_state()
    changed = [f"{kind}: {before[kind]} became {after[kind]}" for kind in before if before[kind] != after[kind]]
    left = [f"{kind}: {found}" for kind, found in cluster_state(supervisor, parts).items() if found]
    return "; ".join([*changed, *left])


def kill_starter(parts: Parts, number: signal.Signals) -> str:
    """Start a cluster, send a signal to the process that started it, and return what is left of the cluster then."""
    before = host_state()
    command = [sys.executable, "-m", "tools.real_cluster", "up"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as starter:  # noqa: S603 - ourselves
        assert starter.stdout is not None  # noqa: S101 - it is a pipe
        kubeconfig = next((match[1] for line in starter.stdout if (match := _KUBECONFIG.search(line))), "")
        supervisor = int(Path(kubeconfig).parent.name or 0)
        seen = cluster_state(supervisor, parts)
        starter.send_signal(number)
        starter.stdout.read()
    if not all(seen.values()):
        return f"the cluster did not run before the signal: {seen}"
    return left_behind(before, supervisor, parts)
