import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from steersman.transport.config import ClusterConfig, Token

STEER = [sys.executable, "-m", "steersman.cli"]


def _steer(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own command
        [*STEER, *arguments],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_one_line_writes_a_private_file_and_ends_cleanly(tmp_path: Path, stop: signal.Signals) -> None:
    """The first steps of a user: start it, use the printed line, press Ctrl-C."""
    path = tmp_path / "new" / "config"
    command = [*STEER, "server", "--kubeconfig", str(path), "--token", "a-token-of-my-own"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own command
        assert process.stdout is not None
        line = process.stdout.readline()
        config = ClusterConfig.from_kubeconfig(path)
        mode = stat.S_IMODE(path.stat().st_mode)
        process.send_signal(stop)
        rest = process.stdout.read()
        code = process.wait(timeout=30)
    assert line == (f"Kubernetes API at {config.server} (for development and tests): export KUBECONFIG={path}\n")
    assert (rest, code, mode) == ("", 0, 0o600)
    assert isinstance(config.authentication, Token)
    assert config.authentication.token.reveal() == "a-token-of-my-own"
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("case", ["data", "replaced"])
def test_a_kubeconfig_that_is_used_later_is_kept(tmp_path: Path, case: str) -> None:
    """With --data the next start has the same token; and a second server may have written the same file since."""
    path = tmp_path / "config"
    data = ["--data", str(tmp_path / "data")] if case == "data" else []
    command = [*STEER, "server", "--kubeconfig", str(path), *data]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own command
        assert process.stdout is not None
        process.stdout.readline()
        if case == "replaced":
            path.write_text("that of another server")
        expected = path.read_bytes()
        process.terminate()
    assert path.read_bytes() == expected


def test_each_start_creates_a_new_token(tmp_path: Path) -> None:
    """A kubeconfig copied yesterday must not work today."""
    tokens = []
    for name in ("one", "two"):
        command = [*STEER, "server", "--kubeconfig", str(tmp_path / name)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own command
            assert process.stdout is not None
            process.stdout.readline()
            tokens.append(json.loads((tmp_path / name).read_bytes())["users"][0]["user"]["token"])
            process.terminate()
    assert tokens[0] != tokens[1]
    assert min(map(len, tokens)) >= 32


def test_a_busy_port_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    """A traceback would be less clear."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = _steer("server", "--port", str(port), "--kubeconfig", str(tmp_path / "k"), home=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"steer: cannot listen on 127.0.0.1:{port}: Address already in use\n"
    assert not (tmp_path / "k").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["server", "--port", "70000"], "Invalid value for '--port'"),
        (["server", "--prot", "1"], "No such option"),
        (["server", "--kubeconfig", "."], "is a directory"),
        (["server", "--kubeconfig", "/proc/1/no/file"], "cannot write /proc/1/no/file"),
        (["sever"], "No such command"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    """A typo gets one line, not a page of usage."""
    done = _steer(*arguments, home=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("steer: ")
    assert complaint in done.stderr


def test_the_help_lists_the_commands(tmp_path: Path) -> None:
    """Without a command, the list of commands is the only useful output."""
    done = _steer(home=tmp_path)
    assert done.returncode == 0
    assert re.search("server +Run a Kubernetes API server", done.stdout)


def test_verbose_logs_requests_but_no_secrets(tmp_path: Path) -> None:
    """Users paste the log into issues."""
    path = tmp_path / "config"
    command = [*STEER, "server", "--kubeconfig", str(path), "--token", "very-secret-token", "--verbose"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - same
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        subprocess.run(  # noqa: S603 - kubectl as it was installed for these tests
            [
                str(Path(sys.executable).parent / "kubectl"),
                "create",
                "secret",
                "generic",
                "s",
                "--from-literal=p=hidden",
            ],
            env={"KUBECONFIG": str(path), "HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            check=True,
            capture_output=True,
        )
        process.terminate()
        log = process.stderr.read()
    assert "method=POST target=/api/v1/namespaces/default/secrets" in log
    assert "status=201" in log
    assert "very-secret-token" not in log
    assert "hidden" not in log
