"""`make test-lowest`: run tests with the lowest versions of all dependencies that pyproject.toml allows.

The environment is `.venv/lowest`: the hash-locked tools of development, with each dependency of Steersman itself
replaced by its lowest version. A range that claims too much fails here, and not at a user who has such a version.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ENVIRONMENT = Path(".venv/lowest")
UV = Path(sys.executable).with_name("uv")


def lowest() -> str:
    """Return the lowest allowed versions, as lines of a requirements file."""
    command = (
        UV,
        "pip",
        "compile",
        "-q",
        "--resolution",
        "lowest-direct",
        "--python-version",
        "3.11",
        "--extra",
        "otel",
    )
    style = ("--no-annotate", "--no-header", "pyproject.toml")
    return subprocess.run([*command, *style], check=True, capture_output=True, text=True).stdout  # noqa: S603 - of this file


def environment() -> Path:
    """Create or update the environment, print the versions, and return its interpreter."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        _run(UV, "venv", "-q", "-p", sys.executable, ENVIRONMENT)
    install = (UV, "pip", "install", "-q", "-p", python)
    _run(*install, "--require-hashes", "-r", "requirements/dev.txt")
    _run(*install, "--no-deps", "--no-build-isolation", "-e", ".")
    versions = ENVIRONMENT / "lowest.txt"
    versions.write_text(lowest())
    print(versions.read_text(), flush=True)
    _run(*install, "--no-deps", "-r", versions)
    return python


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - commands of this file


def main(arguments: Sequence[str]) -> int:
    """Run pytest in the environment and return its exit code."""
    command = [environment(), "-m", "pytest", "-p", "no:cacheprovider", "-rfE", *arguments]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - of this file


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
