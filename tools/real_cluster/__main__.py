"""A real single-node Kubernetes cluster for tests, in namespaces of its own.

    python -m tools.real_cluster check             what this machine lacks for it
    python -m tools.real_cluster build             build what it is made of, once
    python -m tools.real_cluster up                start it, and stop it on Ctrl-C
    python -m tools.real_cluster run -- COMMAND…   run a command inside of a fresh one
    python -m tools.real_cluster enter [COMMAND…]  run a command, else a shell, inside of the one that runs

Inside, KUBECONFIG is that of an administrator, `localhost:5000` is a registry that the node pulls from, and addresses
of pods and services can be reached. From outside none of this can be reached. When it ends nothing is left of it.
"""

import argparse
import os
import signal
import sys
import time

from tools.control_plane.binaries import MissingError
from tools.real_cluster.cluster import RealCluster, StartError, entrance_of, interrupt_on_signals
from tools.real_cluster.host import missing
from tools.real_cluster.parts import Parts
from tools.real_cluster.supervisor import running, runs_folder


def _tell(line: str) -> None:
    print(line, flush=True)


def _up(parts: Parts) -> int:
    begun = time.monotonic()
    with RealCluster(parts, _tell) as entrance:
        _tell(f"the cluster runs, after {time.monotonic() - begun:.1f} s")
        _tell(f"  kubeconfig: {entrance.kubeconfig} (works inside only)")
        _tell(f"  enter it:   {sys.executable} -m tools.real_cluster enter")
        _tell("  stop it:    Ctrl-C")
        try:
            signal.pause()
        except KeyboardInterrupt:
            _tell("stopping")
    _tell("stopped; nothing is left of it")
    return 0


def _enter(parts: Parts, command: list[str]) -> int:
    state = next(running(runs_folder(parts)), None)
    if state is None:
        print("no cluster runs: start one with 'make real-cluster' in another terminal", file=sys.stderr)
        return 2
    return entrance_of(state, parts).run(*(command or [os.environ.get("SHELL", "/bin/sh")]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="real_cluster", description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("check", help="print what this machine lacks; exit code 1 if anything")
    verbs.add_parser("build", help="build what a cluster is made of into the cache")
    verbs.add_parser("up", help="start a cluster, and stop it on Ctrl-C")
    run = verbs.add_parser("run", help="run a command inside of a fresh cluster")
    run.add_argument("command", nargs=argparse.REMAINDER, help="the command, after --")
    enter = verbs.add_parser("enter", help="run a command or a shell inside of the cluster that runs")
    enter.add_argument("command", nargs=argparse.REMAINDER, help="the command; default: a shell")
    return parser.parse_args()


def _act(options: argparse.Namespace) -> int:
    parts = Parts.ensure()
    command = [word for word in getattr(options, "command", ()) if word != "--"]
    match options.verb:
        case "up":
            return _up(parts)
        case "run":
            with RealCluster(parts, _tell) as entrance:
                return entrance.run(*command)
        case "enter":
            return _enter(parts, command)
        case _:
            _tell(f"a real cluster can be made from {parts.binaries.folder.parent}")
            return 0


def main() -> int:
    """Do what the arguments ask for; the exit code is 2 if this machine cannot."""
    options = _arguments()
    interrupt_on_signals()
    if lack := missing():
        print(f"a real cluster cannot run here: {lack}", file=sys.stderr)
        return 1 if options.verb == "check" else 2
    if options.verb == "check":
        return 0
    try:
        return _act(options)
    except (MissingError, StartError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
