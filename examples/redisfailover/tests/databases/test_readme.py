"""The commands of the README, run in a shell."""

import os
import sys
from pathlib import Path

from steersman.testing import replay_readme

from redis_testbed.binaries import redis_programs


async def test_the_commands_of_the_readme_print_what_it_shows(tmp_path: Path) -> None:
    """Real kubectl, real servers and sentinels, the operator in a process of its own."""
    here = [Path(sys.executable).parent, Path(redis_programs()["redis-server"]).parent]
    path = os.pathsep.join([*map(str, here), os.environ.get("PATH", "")])
    await replay_readme(Path(__file__).parents[2], folder=tmp_path, environment={"PATH": path})
