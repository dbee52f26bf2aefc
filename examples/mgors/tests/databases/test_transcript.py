"""The commands of the README, typed in a terminal: `steer dev` runs a replica set of three on this machine."""

import shutil
from pathlib import Path

from mongod_world import mongod
from steersman.testing import console_blocks, replay

PROJECT = Path(__file__).parents[2]


async def test_the_readme_shows_what_is_seen(tmp_path: Path) -> None:
    """Real kubectl, a real mongod, the operator in a process of its own."""
    mongod()
    folder = shutil.copytree(PROJECT, tmp_path / "mgors", ignore=shutil.ignore_patterns("__pycache__", ".*cache"))
    [story] = [block for block in console_blocks((PROJECT / "README.md").read_text()) if "steer dev" in block]
    await replay(story, folder=folder)
