"""A server, a project and a registry for tests of commands."""

import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from steersman.scaffold.api import Api
from steersman.scaffold.files import Addition, project_files
from steersman.scaffold.project import Project
from steersman.scaffold.tree import Tree

#: The kubectl of this environment.

REGISTRY = shutil.which("docker-registry")


@dataclass(frozen=True)
class RunningServer:
    """A server in a separate process."""

    kubeconfig: Path
    url: str


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    """Run an empty server, and set KUBECONFIG to it."""
    path = tmp_path / "kubeconfig"
    arguments = [sys.executable, "-m", "steersman.cli", "server", "--kubeconfig", str(path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own interpreter
        assert process.stdout is not None
        found = re.search(r"https://\S+", process.stdout.readline())
        assert found is not None
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield RunningServer(path, found[0])
        process.terminate()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Change to a project with one kind; its modules are unloaded afterwards."""
    root = tmp_path / "project"
    root.mkdir()
    made = Project(name="fleet", domain="mock.com")
    addition = Addition(api=Api(group="sea.mock.com", version="v1", kind="Ship"))
    files = project_files(made) | addition.files(made)
    files["fleet/main.py"] = addition.registered(files["fleet/main.py"], made)
    Tree(root).add(files)
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(root)
    yield root
    for name in [name for name in sys.modules if name.partition(".")[0] == "fleet"]:
        del sys.modules[name]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """Run Debian's docker-registry."""
    if REGISTRY is None:
        pytest.skip("docker-registry is not installed: apt-get install docker-registry")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = tmp_path / "registry.yaml"
    config.write_text(
        f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {tmp_path}/registry}}}}\n"
        f"http: {{addr: '127.0.0.1:{port}'}}\n"
    )
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([REGISTRY, "serve", str(config)], **quiet) as process:  # noqa: S603 - installed for this
        _await(port)
        yield f"127.0.0.1:{port}"
        process.terminate()


def _await(port: int) -> None:
    """Wait until the port accepts connections."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            threading.Event().wait(0.02)
        else:
            return
    pytest.fail("the registry did not start")
