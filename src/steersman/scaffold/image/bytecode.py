"""Compiled modules for an image: without them every start of a pod compiles every module again.

They are valid whatever the times of files are (``unchecked-hash``), because an image does not change. They are compiled
in a separate process: Python's output depends on what it has done before, and the same inputs must produce the same
image.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from steersman.errors import ConfigError
from steersman.scaffold.image.layer import File


def with_bytecode(files: Iterable[File]) -> list[File]:
    """Return files of an image together with the compiled form of each module among them.

    Files that are not Python of this version are left alone: packages contain templates and code for other versions.
    """
    sources = list(files)
    with TemporaryDirectory(prefix="steersman-") as folder:
        root = Path(folder)
        for file in sources:
            if file.path.endswith(".py"):
                place = root / file.path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(file.data)
        _compile(root)
        compiled = [
            File(path.relative_to(root).as_posix(), path.read_bytes())
            for path in sorted(root.rglob("__pycache__/*.pyc"))
        ]
    return [*sources, *compiled]


def _compile(root: Path) -> None:
    command = [
        sys.executable,
        "-S",
        "-s",
        "-m",
        "compileall",
        "-q",
        "-q",
        "-f",
        "--invalidation-mode",
        "unchecked-hash",
    ]
    places = ["-s", str(root), "-p", "/", str(root)]
    environment = {"PYTHONHASHSEED": "0", "PATH": os.environ.get("PATH", "")}
    answer = subprocess.run([*command, *places], env=environment, check=False, capture_output=True)  # noqa: S603 - this interpreter
    # 1: some file could not be compiled, which is fine.
    if answer.returncode not in (0, 1):
        raise ConfigError(f"modules could not be compiled: {answer.stderr.decode(errors='replace').strip()}")
