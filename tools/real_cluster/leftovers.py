"""What a cluster could leave behind on its host."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.real_cluster.cgroups import groups_named, own_hierarchies
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
    return {
        "cgroups": [str(path) for path in groups_named(name, own_hierarchies())],
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
    while (left := _left(before, supervisor, parts)) and time.monotonic() < until:
        time.sleep(0.1)  # noqa: TID251 - a tool for people, outside the library
    return left


def _left(before: dict[str, list[str]], supervisor: int, parts: Parts) -> str:
    left = [f"{kind}: {found}" for kind, found in cluster_state(supervisor, parts).items() if found]
    return "; ".join([*changes(before, host_state()), *left])


def changes(before: dict[str, list[str]], after: dict[str, list[str]]) -> list[str]:
    """Return how a host differs from its state before.

    A setting that did not exist before is no change: the kernel adds those of a module when a cluster first needs it.
    """
    names = {one.partition("=")[0] for one in before["settings"]}
    known = [one for one in after["settings"] if one.partition("=")[0] in names]
    compared = {**after, "settings": known}
    return [f"{kind}: {before[kind]} became {compared[kind]}" for kind in before if before[kind] != compared[kind]]


@dataclass(frozen=True, slots=True)
class Kill:
    """A process of a cluster that is killed, and how."""

    number: signal.Signals
    #: The supervisor instead of the process that started the cluster.
    is_supervisor: bool = False
    #: A command runs inside of the cluster, as scenarios do; otherwise the starter only waits.
    is_busy: bool = False

    def __str__(self) -> str:
        victim = "supervisor" if self.is_supervisor else "starter"
        return f"{self.number.name} to the {victim}{' during a command inside' if self.is_busy else ''}"


#: All ways in which a cluster is ended from outside, at least one for each process that could outlive it.
KILLS: Final = (
    Kill(signal.SIGINT),
    Kill(signal.SIGTERM, is_busy=True),
    Kill(signal.SIGKILL, is_busy=True),
    Kill(signal.SIGKILL, is_supervisor=True),
)


def kill_one(parts: Parts, kill: Kill) -> str:
    """Start a cluster, kill one of its processes, and return what is left of the cluster then."""
    before = host_state()
    mark = f"86400.{os.getpid()}"
    inside = ["run", "--", "sh", "-c", f'echo "kubeconfig: $KUBECONFIG"; sleep {mark}']
    command = [sys.executable, "-m", "tools.real_cluster", *(inside if kill.is_busy else ["up"])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as starter:  # noqa: S603 - ourselves
        assert starter.stdout is not None  # noqa: S101 - it is a pipe
        kubeconfig = next((match[1] for line in starter.stdout if (match := _KUBECONFIG.search(line))), "")
        supervisor = int(Path(kubeconfig).parent.name or 0)
        seen = cluster_state(supervisor, parts)
        os.kill(supervisor if kill.is_supervisor else starter.pid, kill.number)
        starter.stdout.read()
    if not all(seen.values()):
        return f"the cluster did not run before the signal: {seen}"
    left = left_behind(before, supervisor, parts)
    commands = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if f"sleep {mark}" in _words(path)]
    return "; ".join(filter(None, [left, f"commands: {commands}" if commands else ""]))


def _words(cmdline: Path) -> str:
    return _text(cmdline).replace("\0", " ")
