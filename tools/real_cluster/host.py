"""What a machine must have to run a real cluster."""

import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.real_cluster.cgroups import Groups, NoCgroupError, own_hierarchies
from tools.real_cluster.images import MACHINE

#: Programs that are needed, and what usually brings them.
_PROGRAMS: Final = {
    "go": "Go",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "util-linux",
    "ip": "iproute2",
    "ldd": "the C library's tools",
    "apt-get": "Debian or Ubuntu, whose packages bring containerd and runc",
    "dpkg-deb": "dpkg",
}
_OVERLAY: Final = "lowerdir=/var/lib,upperdir=/run/upper,workdir=/run/work"
#: What is tried in namespaces that vanish at once; a failing line names what the kernel lacks.
_TRIALS: Final = (
    ("network bridges", "ip link add trial0 type bridge"),
    ("veth devices", "ip link add trial1 type veth peer name trial2"),
    ("mounts", "mount -t tmpfs tmpfs /run && mkdir /run/upper /run/work /run/both"),
    ("overlay file systems", f"mount -t overlay -o {_OVERLAY} overlay /run/both"),
    ("nftables", f"{sys.executable} -m tools.real_cluster.host"),
)
_NAMESPACES: Final = ("--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--mount-proc")


def missing() -> str:
    """Return what this machine lacks, in one line; empty if a real cluster can run here."""
    if sys.platform != "linux" or os.uname().machine not in MACHINE:
        return f"it needs Linux on {' or '.join(MACHINE)}"
    if os.geteuid() != 0:
        return "it needs root, for namespaces, mounts and cgroups"
    for program, source in _PROGRAMS.items():
        if shutil.which(program) is None:
            return f"it needs {program} on PATH ({source})"
    if not os.access("/dev/kmsg", os.R_OK):
        return "it needs /dev/kmsg, which the kubelet reads"
    return _missing_cgroups() or _missing_in_kernel()


def _missing_cgroups() -> str:
    try:
        Groups.create(own_hierarchies(), f"real-cluster-trial-{os.getpid()}").remove()
    except NoCgroupError as error:
        return f"it needs cgroups of its own, and {error}"
    return ""


def _missing_in_kernel() -> str:
    script = "".join(f"({command}) >/dev/null 2>&1 || {{ echo '{name}'; exit 1; }}\n" for name, command in _TRIALS)
    try:
        answer = subprocess.run(  # noqa: S603 - our own commands
            ["unshare", *_NAMESPACES, "sh", "-c", script],  # noqa: S607 - the system's unshare
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=Path(__file__).parents[2],
        )
    except subprocess.TimeoutExpired:
        return "namespaces of its own did not start within a minute"
    if answer.returncode == 0:
        return ""
    what = answer.stdout.strip() or f"namespaces ({answer.stderr.strip()})"
    return f"it needs {what} in the kernel, and the permission to use them"


def has_nftables() -> bool:
    """Return whether the kernel of this network namespace answers questions about nftables."""
    netfilter, subsystem, get_generation = 12, 10, 16
    request = struct.pack("=IHHIIBBH", 20, subsystem << 8 | get_generation, 1, 1, 0, 0, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, netfilter) as kernel:
        kernel.settimeout(5)
        kernel.send(request)
        answer = kernel.recv(4096)
    (kind,) = struct.unpack_from("=H", answer, 4)
    return bool(kind == subsystem << 8 | 15)  # a generation, and no error


if __name__ == "__main__":
    sys.exit(not has_nftables())
