"""The article's own commands, typed in a terminal: the console blocks of the README."""

import shutil
from pathlib import Path

from steersman.testing import console_blocks, replay

PROJECT = Path(__file__).parent.parent


async def test_the_readme_shows_what_is_seen(tmp_path: Path) -> None:
    """Real kubectl, a real server, the program and the operator in processes of their own."""
    folder = shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__", ".*cache"))
    await replay("".join(console_blocks((PROJECT / "README.md").read_text())), folder=folder)
