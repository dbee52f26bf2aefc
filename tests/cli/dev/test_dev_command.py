"""`steer dev` as its user runs it: processes, files, signals, a terminal."""

import fcntl
import os
import pty
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from steersman.cli import main
from tests.support.kubectl import KUBECTL
from tests.support.terminal import PATIENCE, Dev, wait_gone

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked up in /proc")


def kubectl(folder: Path, *arguments: str) -> str:
    """Run kubectl as the user does in another terminal."""
    environment = {**os.environ, "KUBECONFIG": str(folder / ".steer/kubeconfig"), "HOME": str(folder.parent)}
    answer = subprocess.run(  # noqa: S603 - the kubectl of this environment
        [KUBECTL, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_save_restarts_the_operator_and_keeps_the_objects(project: Path) -> None:
    """The whole loop: run, break the code, see where, repair it, stop; at the end nothing is left."""
    classes = project / "fleet/api/ship_v1.py"
    code = classes.read_text()
    before = sorted(project.iterdir())
    with Dev(project) as dev:
        assert f"export KUBECONFIG={project}/.steer/kubeconfig\n" in dev.wait_for("fleet is running")
        assert stat.S_IMODE((project / ".steer/kubeconfig").stat().st_mode) == 0o600
        kubectl(project, "apply", "-f", "samples")
        assert "Ship default/ship-sample ok in" in dev.wait_for(": it was created")

        again = CliRunner().invoke(main, ["dev", "--plain"])
        assert again.exit_code == 2
        assert "is in use: stop the 'steer dev' in the other terminal" in again.stderr

        classes.write_text(f"{code}\ndef broken(:\n")
        seen = dev.wait_for("waiting for a file to change")
        assert f"fleet/api/ship_v1.py:{len(code.splitlines()) + 2}: SyntaxError: invalid syntax" in seen
        assert kubectl(project, "get", "ships", "-o", "name") == "ship.sea.mock.com/ship-sample\n"

        classes.write_text(code.replace('message: str = ""', 'message: str = ""\n    harbour: str = "none"'))
        assert "fleet/api/ship_v1.py changed: restarting the operator" in dev.wait_for("fleet is running")
        assert "harbour" in kubectl(project, "explain", "ship.status")

        child = dev.child()
        dev.send(signal.SIGINT)
        assert dev.wait() == 0
        wait_gone(child)
    assert sorted(project.iterdir()) == before


def test_a_killed_steer_ends_its_operator(project: Path) -> None:
    """A kill -9 leaves no chance to clean up: the operator notices by itself, even while it is loading."""
    with Dev(project) as dev:
        dev.wait_for("export KUBECONFIG")
        child = dev.child()
        dev.send(signal.SIGKILL)
        wait_gone(child)


def test_a_second_ctrl_c_does_not_wait(project: Path) -> None:
    """An operator that does not stop must not keep its author waiting."""
    main_file = project / "fleet/main.py"
    blocked = "import signal\n\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\nprint('deaf')\n"
    main_file.write_text(main_file.read_text() + blocked)
    with Dev(project) as dev:
        dev.wait_for("deaf")
        child = dev.child()
        dev.send(signal.SIGINT)
        dev.send(signal.SIGTERM)
        assert dev.wait() == 1
        wait_gone(child)
    assert not (project / ".steer").exists()


def test_a_stored_cluster_is_available_again(project: Path) -> None:
    """With --data the objects and the kubeconfig stay."""
    data = project / ".steer/data"
    with Dev(project, "--data", str(data)) as dev:
        dev.wait_for("fleet is running")
        kubectl(project, "apply", "-f", "samples")
        dev.send(signal.SIGTERM)
        assert dev.wait() == 0
    assert (project / ".steer/kubeconfig").exists()
    with Dev(project, "--data", str(data)) as dev:
        assert "Ship default/ship-sample ok in" in dev.wait_for(": the operator has just started")


def test_in_a_terminal_it_draws_a_screen_and_restores_the_terminal(project: Path) -> None:
    """It uses the alternate screen without echo, takes keys, and at the end restores the first screen and the echo."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    command = [sys.executable, "-m", "steersman.cli", "dev"]
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        cwd=project,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**environment, "TERM": "xterm-256color"},
        start_new_session=True,
    ) as process:
        shown = _read(leader, b"running")
        assert b"\x1b[?1049h" in shown
        assert not termios.tcgetattr(leader)[3] & termios.ECHO
        assert b"export KUBECONFIG=" in shown
        os.write(leader, b"/ship\r")
        assert b'filter "ship", esc' in _read(leader, b"esc clears it\x1b")
        process.send_signal(signal.SIGINT)
        assert b"\x1b[?1049l" in _read(leader, b"fleet: stopped after 0 reconciles")
        assert process.wait(PATIENCE) == 0
    assert termios.tcgetattr(leader)[3] & termios.ECHO
    os.close(follower)
    os.close(leader)


def _read(terminal: int, until: bytes) -> bytes:
    """Read the output of the terminal until a text appears."""
    shown = b""
    limit = time.monotonic() + PATIENCE
    while until not in shown:
        readable, _, _ = select.select([terminal], [], [], limit - time.monotonic())
        assert readable, shown
        shown += os.read(terminal, 65536)
    return shown


def test_a_folder_without_a_project_is_an_error_before_anything_starts(tmp_path: Path) -> None:
    """The message contains the next step."""
    answer = CliRunner().invoke(main, ["dev", str(tmp_path)])
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"steer: there is no project in {tmp_path}: ")
    assert "steer init NAME" in answer.stderr
    assert list(tmp_path.iterdir()) == []
