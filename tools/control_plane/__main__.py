"""A real Kubernetes control plane for tests: build it once from its Go modules, then run commands against it.

    python -m tools.control_plane build
    python -m tools.control_plane --kubernetes 1.33 run [--controllers] -- COMMAND…

`run` starts etcd and kube-apiserver (and kube-controller-manager, if asked) on free loopback ports, sets KUBECONFIG,
STEERSMAN_CONTRACT_KUBECONFIG and STEERSMAN_CONTRACT_AUDIT_LOG for the command, with controllers
STEERSMAN_CONTRACT_CONTROLLERS too, and stops everything afterwards, whatever happens.
"""

import argparse
import os
import subprocess
import sys

from tools.control_plane.binaries import Binaries, MissingError
from tools.control_plane.processes import ControlPlane, StartError


def _run(binaries: Binaries, command: list[str], *, controllers: bool) -> int:
    with ControlPlane(binaries, controllers=controllers) as plane:
        print(f"kube-apiserver {binaries.kubernetes} serves at {plane.url}", flush=True)
        environment = {
            **os.environ,
            "KUBECONFIG": str(plane.kubeconfig),
            "STEERSMAN_CONTRACT_KUBECONFIG": str(plane.kubeconfig),
            "STEERSMAN_CONTRACT_AUDIT_LOG": str(plane.audit_log),
            "PATH": f"{binaries.folder}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        if controllers:
            environment["STEERSMAN_CONTRACT_CONTROLLERS"] = "1"
        return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - the caller's own command


def main() -> int:
    """Build, or run a command with a fresh control plane and return its exit code."""
    parser = argparse.ArgumentParser(prog="control_plane", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kubernetes", default="", metavar="MINOR", help="such as 1.33; the newest if not given")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("build", help="build kube-apiserver, kube-controller-manager, kubectl and etcd into the cache")
    run = verbs.add_parser("run", help="run a command against a fresh control plane")
    run.add_argument("--controllers", action="store_true", help="start kube-controller-manager too")
    run.add_argument("command", nargs=argparse.REMAINDER, help="the command, after --")
    options = parser.parse_args()
    try:
        binaries = Binaries.ensure(minor=options.kubernetes)
        if options.verb == "build":
            print(f"the control plane is in {binaries.folder}")
            return 0
        command = options.command[1:] if options.command[:1] == ["--"] else options.command
        if not command:
            parser.error("run needs a command, after --")
        return _run(binaries, command, controllers=options.controllers)
    except (MissingError, StartError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
