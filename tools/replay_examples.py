"""Replays the READMEs of examples on the cluster of ``$KUBECONFIG`` instead of on a server of their own.

``python -m tools.control_plane run --controllers -- python -m tools.replay_examples custompod project`` tells whether a
real kube-apiserver answers as the embedded one does.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from steersman.errors import WaitTimeout
from steersman.testing.transcripts import console_blocks, replay
from tools.example_lines import EXAMPLES

#: Lines that start a server of the README's own, and make it the cluster that is meant.
_OWN_SERVER = ("$ steer server ", "$ export KUBECONFIG=")


def on_this_cluster(readme: str) -> str:
    """Give the commands of a README without those that start a server."""
    lines = "".join(console_blocks(readme)).splitlines()
    kept = (line for line in lines if not line.startswith(_OWN_SERVER))
    return "\n".join(kept).replace("--kubeconfig kubeconfig", "--kubeconfig $KUBECONFIG")


async def main(names: list[str]) -> int:
    """Replay each; answer whether all of them were as told."""
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as directory:
            folder = shutil.copytree(EXAMPLES / name, Path(directory) / name)
            commands = on_this_cluster((folder / "README.md").read_text(encoding="utf-8"))
            try:
                await replay(commands, folder=folder, environment={"KUBECONFIG": os.environ["KUBECONFIG"]})
            except WaitTimeout as error:
                failed = 1
                print(f"{name}: {error}")
            else:
                print(f"{name}: as told")
    return failed


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
