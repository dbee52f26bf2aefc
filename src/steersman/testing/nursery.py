"""A process that has loaded an operator and forks a ``steer run`` of it for each line that it reads.

``python -m steersman.testing.nursery MODULE:OPERATOR`` reads paths of kubeconfigs and writes process ids. A child
begins in milliseconds, because loading is what takes most of the time of a start; then it is like any other.
"""

import os
import signal
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points

#: What ``steer run`` loads when it runs.
_NEEDED = (
    "steersman.cli.run",
    "steersman.manager.main",
    "steersman.manager.process.signals",
    "steersman.manager.process.logs",
)


def serve(target: str, paths: Iterable[str]) -> None:
    """Fork a child for each path; the children of one that ends are nobody's, and end by a signal."""
    [steer] = entry_points(group="console_scripts", name="steer")
    command = steer.load()
    for module in (*_NEEDED, target.partition(":")[0]):
        import_module(module)
    # Nobody waits for the children: what is left of one that was killed goes at once.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for path in paths:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            sys.argv = ["steer", "run", target, "--kubeconfig", path.strip()]
            sys.exit(command())
        print(child, flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    serve(sys.argv[1], sys.stdin)
