"""The commands of the README, typed in a terminal."""

import os
import shutil
import sys
from pathlib import Path

from steersman.testing import console_blocks, replay

from redis_world.binaries import redis_programs

PROJECT = Path(__file__).parents[2]


async def test_the_readme_shows_what_is_seen(tmp_path: Path) -> None:
    """Real kubectl, real servers and sentinels, the operator in a process of its own."""
    folder = shutil.copytree(PROJECT, tmp_path / "redisfailover", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    here = [Path(sys.executable).parent, Path(redis_programs()["redis-server"]).parent]
    path = os.pathsep.join([*map(str, here), os.environ.get("PATH", "")])
    blocks = "".join(console_blocks((PROJECT / "README.md").read_text()))
    await replay(blocks, folder=folder, environment={"PATH": path})
