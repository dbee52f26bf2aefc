"""The commands of the original, typed in a terminal: the console block of the README."""

import shutil
from pathlib import Path

from steersman.testing import console_blocks, replay

PROJECT = Path(__file__).parent.parent


async def test_the_readme_shows_what_is_seen(tmp_path: Path) -> None:
    """Real kubectl, a real server, the operator in a process of its own."""
    folder = shutil.copytree(
        PROJECT, tmp_path / "samplecontroller", ignore=shutil.ignore_patterns("__pycache__", ".*cache")
    )
    [story] = [block for block in console_blocks((PROJECT / "README.md").read_text()) if "steer server" in block]
    await replay(story, folder=folder)
