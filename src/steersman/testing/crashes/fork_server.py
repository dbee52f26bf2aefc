"""A process that has loaded an operator and forks a ``steer run`` of it for each line that it reads.

``python -m steersman.testing.crashes.fork_server MODULE:OPERATOR`` reads paths of kubeconfigs and writes process ids. A
child starts in milliseconds, because its modules are already loaded; apart from that it is an ordinary ``steer run``.
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
    """Fork a child for each path. Children that outlive this process must be ended by a signal."""
    [steer] = entry_points(group="console_scripts", name="steer")
    command = steer.load()
    for module in (*_NEEDED, target.partition(":")[0]):
        import_module(module)
    # Children are not waited for: the kernel removes a killed one at once.
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
