"""Replay the READMEs of examples on the cluster of ``$KUBECONFIG`` instead of on a server of their own.

``python -m tools.control_plane run --controllers -- python -m tools.replay_examples custompod project`` shows whether a
real kube-apiserver responds as the embedded one does.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from steersman.errors import WaitTimeout
from steersman.testing import replay_readme
from tools.examples import EXAMPLES

#: Lines that start a server for the README and select it.
_OWN_SERVER = ("$ steer server ", "$ export KUBECONFIG=")


def on_this_cluster(transcript: str) -> str:
    """Return a transcript without the commands that start a server."""
    kept = (line for line in transcript.splitlines() if not line.startswith(_OWN_SERVER))
    return "\n".join(kept).replace("--kubeconfig kubeconfig", "--kubeconfig $KUBECONFIG")


async def main(names: list[str]) -> int:
    """Replay each README; return 1 if the output of a command does not match."""
    environment = {"KUBECONFIG": os.environ["KUBECONFIG"]}
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as directory:
            try:
                await replay_readme(
                    EXAMPLES / name, folder=Path(directory), edit=on_this_cluster, environment=environment
                )
            except WaitTimeout as error:
                failed = 1
                print(f"{name}: {error}")
            else:
                print(f"{name}: output as expected")
    return failed


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
