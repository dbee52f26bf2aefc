"""`make scaffold-check`: what a new user gets, in an environment that has nothing else.

Builds the wheel, installs it into a fresh virtual environment, begins a project there, and runs the project's own
checks and tests, its manifests and `steer dev`.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

#: Seconds that `steer dev` gets to start.
PATIENCE = 60
#: Variables that say how packages are fetched.
_OF_THE_NETWORK = ("PIP_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy")


class Environment:
    """A fresh virtual environment and a folder in which commands run."""

    def __init__(self, place: Path) -> None:
        self._bin = place / "venv/bin"
        self.folder = place / "fleet"
        self.folder.mkdir()
        path = os.pathsep.join([str(self._bin), "/usr/bin", "/bin"])
        self._variables = {"PATH": path, "HOME": str(place)}
        # Where packages come from is the business of whoever runs this.
        self._variables |= {name: value for name, value in os.environ.items() if name.startswith(_OF_THE_NETWORK)}

    def run(self, *command: str) -> None:
        """Run a command; it must succeed."""
        print(f"$ {' '.join(command)}", flush=True)
        subprocess.run(command, cwd=self.folder, env=self._variables, check=True)  # noqa: S603 - commands of this file

    def develop(self) -> None:
        """Start `steer dev` until the operator runs, and press Ctrl-C."""
        print("$ steer dev --plain", flush=True)
        with subprocess.Popen(
            ["steer", "dev", "--plain"],  # noqa: S607 - of the fresh environment
            cwd=self.folder,
            env=self._variables,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            signal.alarm(PATIENCE)
            assert process.stderr is not None  # noqa: S101 - a pipe was asked for
            for line in process.stderr:
                print(line, end="", flush=True)
                if "is running" in line or "ERROR" in line:
                    break
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
            signal.alarm(0)
        if process.returncode or "is running" not in line:
            sys.exit(f"scaffold-check: steer dev ended with {process.returncode}: {rest}")


def build_wheel(place: Path) -> Path:
    """Build the wheel of this checkout."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(place), "."]
    subprocess.run(command, check=True)  # noqa: S603 - our own interpreter
    (wheel,) = place.glob("steersman-*.whl")
    return wheel


def check(environment: Environment, commands: Sequence[Sequence[str]]) -> None:
    """Run commands one after the other."""
    for command in commands:
        environment.run(*command)


def main() -> None:
    """Do it all in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="steersman-scaffold-") as folder:
        place = Path(folder)
        wheel = build_wheel(place)
        subprocess.run([sys.executable, "-m", "venv", str(place / "venv")], check=True)  # noqa: S603 - our own interpreter
        environment = Environment(place)
        pip = ("python", "-m", "pip", "install", "-q", "--disable-pip-version-check")
        check(
            environment,
            [
                (*pip, "--upgrade", "pip"),
                (*pip, str(wheel)),
                ("steer", "init", "fleet", "--domain", "example.com"),
                ("steer", "create", "api", "--group", "sea", "--version", "v1", "--kind", "Ship"),
                (*pip, "-e", ".", "--group", "dev"),
                ("make", "check", "test"),
                ("steer", "manifests"),
                ("make", "check"),
            ],
        )
        environment.develop()
    print("a new project passes its own checks in an environment of its own")


if __name__ == "__main__":
    main()
