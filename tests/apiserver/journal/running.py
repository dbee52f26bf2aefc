"""`steer server --data` in a separate process that tests can kill."""

import signal
import subprocess
import sys
from pathlib import Path


class RunningServer:
    """A server on a directory; it listens on a free port and writes its kubeconfig beside the data."""

    def __init__(self, directory: Path) -> None:
        self.data = directory / "data"
        self.kubeconfig = directory / "kubeconfig"
        self._log = directory / "server.log"
        command = [sys.executable, "-m", "steersman.cli", "server", "--data", str(self.data)]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [*command, "--kubeconfig", str(self.kubeconfig)], stdout=subprocess.PIPE, stderr=log, text=True
            )

    def wait_ready(self) -> None:
        """Wait until the server reports that it listens."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert "KUBECONFIG" in line, self._log.read_text()

    def kill(self) -> None:
        """End the server with SIGKILL, as a power failure does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._close()

    def stop(self) -> None:
        """End the server as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(timeout=20) == 0, self._log.read_text()
        self._close()

    def _close(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.close()
