"""Replay the README of examples/network with the Go operator in network/, which does what the example does.

``python -m bench.go.replay``. Needs Go and kubectl.
"""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.kopf.replay import with_operator
from steersman.errors import WaitTimeout
from steersman.testing import replay_readme
from tools.example_lines import GO
from tools.examples import EXAMPLES


async def main() -> int:
    """Build the operator and replay the README; return 1 if the output of a command does not match."""
    if shutil.which("go") is None:
        print("not replayed: go is not in PATH")
        return 0
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "operator"
        subprocess.run(["go", "build", "-o", program, "./network"], cwd=GO, check=True)  # noqa: ASYNC221, S603, S607 - go as the user has it
        try:
            await replay_readme(
                EXAMPLES / "network",
                folder=Path(directory),
                edit=lambda transcript: with_operator(transcript, str(program)),
                environment={"METRICS_ADDRESS": "0"},  # its usual port may be in use
            )
        except WaitTimeout as error:
            print(f"network: {error}")
            return 1
    print("network: output as expected")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
