"""Time to import a client library: each in a fresh process, median of five, without the interpreter's own start.

All are imported from byte code that was compiled before, as after an installation.
"""

import os
import statistics
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import perf_counter

from bench._results import Results

_ROUNDS = 5
_PEERS = ["lightkube", "kubernetes", "kopf", "kr8s"]
_KINDS = ["rbac_v1", "core_v1", "apps_v1", "resource_v1"]


def milliseconds(program: str, byte_code: str) -> float:
    """Return the time of a fresh Python that runs this program."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = byte_code
    begin = perf_counter()
    command = [sys.executable, "-c", program]
    subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: S603 - our own Python
    return (perf_counter() - begin) * 1e3


def medians(programs: list[str]) -> dict[str, float]:
    """Return the median time of each program, run in turns; the first round only compiles."""
    times: dict[str, list[float]] = {program: [] for program in programs}
    with TemporaryDirectory() as byte_code:
        for _ in range(_ROUNDS + 1):
            for program in programs:
                times[program].append(milliseconds(program, byte_code))
    return {program: statistics.median(taken[1:]) for program, taken in times.items()}


def main() -> None:
    """Print a table of milliseconds and ratios; for kinds also without the time of msgspec."""
    # Names of the package are loaded on first use, so the client is compared with its peers.
    client = "from steersman import Client"
    peers = ["import steersman", client, *(f"import {peer}" for peer in _PEERS)]
    kinds = [f"import steersman.kinds.{module}" for module in _KINDS]
    took = medians(["pass", "import msgspec", *peers, *kinds])
    bare = took.pop("pass")
    msgspec = took["import msgspec"] - bare
    print(f"Python alone {bare:.0f} ms, taken off below; msgspec alone {msgspec:.0f} ms")
    results = Results("imports", "Importing, milliseconds, the interpreter taken off")
    for program in peers:
        results.add(program, ms=took[program] - bare)
    results.show()
    for program in kinds:
        print(f"{program:36}{took[program] - bare:6.0f}{took[program] - bare - msgspec:9.0f} beyond msgspec")


if __name__ == "__main__":
    main()
