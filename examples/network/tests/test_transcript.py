"""The commands of the README, typed in a terminal."""

import shutil
from pathlib import Path

from steersman.testing import console_blocks, replay

PROJECT = Path(__file__).parent.parent


async def test_the_readme_shows_what_is_seen(tmp_path: Path) -> None:
    """Real kubectl, a real server, the operator in a process of its own."""
    folder = shutil.copytree(PROJECT, tmp_path / "network", ignore=shutil.ignore_patterns("__pycache__", ".*cache"))
    await replay("".join(console_blocks((PROJECT / "README.md").read_text())), folder=folder)
