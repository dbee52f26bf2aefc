"""What it costs to import a client library: each in a fresh process, the median of five, the interpreter taken off.

All are imported from byte code that was compiled before, as after an installation.
"""

import os
import statistics
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import perf_counter

_RUNS = 5
_PEERS = ["lightkube", "kubernetes", "kopf", "kr8s"]
_OURS = [
    "steersman",
    "steersman.kinds.rbac_v1",
    "steersman.kinds.core_v1",
    "steersman.kinds.apps_v1",
    "steersman.kinds.resource_v1",
]


def milliseconds(program: str, byte_code: str) -> float:
    """Give the median time of a fresh Python that runs this program; the first run only compiles."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = byte_code
    times = []
    for _ in range(_RUNS + 1):
        begin = perf_counter()
        command = [sys.executable, "-c", program]
        subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: S603 - our own Python
        times.append((perf_counter() - begin) * 1e3)
    return statistics.median(times[1:])


def main() -> None:
    """Print a table of milliseconds and ratios; kinds are also shown beyond what msgspec takes alone."""
    with TemporaryDirectory() as byte_code:
        _compare(byte_code)


def _compare(byte_code: str) -> None:
    bare = milliseconds("pass", byte_code)
    msgspec = milliseconds("import msgspec", byte_code) - bare
    print(f"Python alone {bare:.0f} ms, taken off below; msgspec alone {msgspec:.0f} ms")
    print(f"{'import':32}{'ms':>8}{'beyond msgspec':>16}{'':>10}")
    first = 0.0
    for name in [*_OURS, *_PEERS]:
        took = milliseconds(f"import {name}", byte_code) - bare
        first = first or took
        beyond = f"{took - msgspec:16.0f}" if name in _OURS else " " * 16
        print(f"{name:32}{took:8.0f}{beyond}{took / first:9.1f}x")


if __name__ == "__main__":
    main()
