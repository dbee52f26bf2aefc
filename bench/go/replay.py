"""Replays the README of examples/network with the operator in network/ instead of ours: it does what the example does.

``python -m bench.go.replay``. Needs Go, and kubectl.
"""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.kopf.replay import with_operator
from steersman.errors import WaitTimeout
from steersman.testing.transcripts import replay
from tools.example_lines import EXAMPLES, GO


async def main() -> int:
    """Build the operator and replay; answer whether all was as told."""
    if shutil.which("go") is None:
        print("not replayed: there is no go")
        return 0
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "operator"
        subprocess.run(["go", "build", "-o", program, "./network"], cwd=GO, check=True)  # noqa: ASYNC221, S603, S607 - go as the user has it
        folder = shutil.copytree(EXAMPLES / "network", Path(directory) / "network")
        commands = with_operator((folder / "README.md").read_text(encoding="utf-8"), str(program))
        try:
            # Others may have its usual port.
            await replay(commands, folder=folder, environment={"METRICS_ADDRESS": "0"})
        except WaitTimeout as error:
            print(f"network: {error}")
            return 1
    print("network: as told")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
