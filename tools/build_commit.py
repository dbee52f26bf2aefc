"""The build hook of hatchling: it puts the commit that a wheel or sdist is built from into ``steersman/commit.txt``.

An sdist has no repository; a wheel that is built from it takes the file over.
"""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FILE = "src/steersman/commit.txt"


class CommitHook(BuildHookInterface):  # type: ignore[type-arg] # hatchling's configuration is not ours
    """Adds the commit to what is built; an editable installation reads it from the repository."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the commit into a file beside the sources, and include it."""
        root = Path(self.root)
        if version == "editable" or not (root / ".git").exists():
            return
        command = ["git", "-C", self.root, "rev-parse", "HEAD"]
        made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
        if made.returncode == 0:
            scratch = Path(self.directory) / "commit.txt"
            scratch.parent.mkdir(parents=True, exist_ok=True)
            scratch.write_text(made.stdout, encoding="utf-8")
            place = "steersman/commit.txt" if self.target_name == "wheel" else _FILE
            build_data["force_include"][str(scratch)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file from the folder of the artifacts."""
        del version, build_data, artifact_path
        (Path(self.directory) / "commit.txt").unlink(missing_ok=True)
