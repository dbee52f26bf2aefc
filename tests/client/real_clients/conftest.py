"""A server as a user starts it, and the environment of other clients, with an empty home directory."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "scripts"
BIN = Path(sys.executable).parent
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """`steer server` in a separate process."""

    kubeconfig: Path
    home: Path

    def environment(self) -> dict[str, str]:
        """Return the environment of a client: this server, an empty home, no settings of the machine."""
        return {
            "HOME": str(self.home),
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.home / "cache"),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONWARNINGS": "ignore",
        }

    def script(self, name: str, *arguments: str) -> list[str]:
        """Run a scenario of another client in a separate process; return the lines it printed."""
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, str(SCRIPTS / f"{name}.py"), *arguments],
            env=self.environment(),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{name} failed:\n{done.stdout}\n{done.stderr}"
        return done.stdout.splitlines()


@pytest.fixture
def running_server(tmp_path: Path) -> Iterator[RunningServer]:
    """Return a fresh server; it must end without an error when it is stopped."""
    kubeconfig = tmp_path / "kubeconfig"
    home = tmp_path / "home"
    home.mkdir()
    log = tmp_path / "server.log"
    # The output is compared with that from a server without controllers.
    command = [sys.executable, "-m", "steersman.cli", "server", "--no-controllers", "--kubeconfig", str(kubeconfig)]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,  # noqa: S603 - our own
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert "KUBECONFIG" in line, log.read_text()
            yield RunningServer(kubeconfig, home)
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(timeout=_PATIENCE)
    assert code == 0, log.read_text()
    assert "Traceback" not in log.read_text(), log.read_text()
