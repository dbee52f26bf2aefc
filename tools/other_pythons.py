"""`make test-pythons`: run tests on other versions of Python, each in an environment of its own.

Environments live in `.venv/pythons` and are made from the same hash-locked requirements. A version that cannot be had
is named with the reason; it does not fail the run, because not every machine can fetch every interpreter.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.interpreters import MissingError, ensure

ENVIRONMENTS = Path(".venv/pythons")
UV = Path(sys.executable).with_name("uv")


def environment_of(version: str) -> Path:
    """Create or update the environment of a version and return its interpreter."""
    folder = ENVIRONMENTS / version
    python = folder / "bin" / "python"
    if not python.exists():
        _run(UV, "venv", "-q", "--clear", "--no-python-downloads", "-p", ensure(version), folder)
    install = (UV, "pip", "install", "-q", "-p", python)
    _run(*install, "--require-hashes", "-r", "requirements/dev.txt")
    _run(*install, "--no-deps", "--no-build-isolation", "-e", ".")
    return python


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - commands of this file


def run_tests(version: str, arguments: Sequence[str]) -> str:
    """Run pytest on a version; return what to report about it."""
    begun = time.monotonic()
    try:
        python = environment_of(version)
    except MissingError as error:
        return f"not run: {error}"
    release = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - of this file
    print(f"== {release}: pytest {' '.join(arguments)}", flush=True)
    # The cache of pytest belongs to the main environment: failures of another version must not end up in it.
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-rfE", *arguments]
    code = subprocess.run(command, check=False).returncode  # noqa: S603 - of this file
    return f"{'FAILED' if code else 'passed'} in {time.monotonic() - begun:.0f} s"


def main(versions: Sequence[str], arguments: Sequence[str]) -> int:
    """Test every version, report all, and return 1 if tests failed on any."""
    reports = {version: run_tests(version, arguments) for version in versions}
    for version, report in reports.items():
        print(f"Python {version}: {report}")
    return int(any(report.startswith("FAILED") for report in reports.values()))


if __name__ == "__main__":
    sys.exit(main(os.environ.get("PYTHONS", "3.12 3.13 3.14").split(), sys.argv[1:]))
