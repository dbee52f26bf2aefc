"""Sockets by which programs of one user find each other, and no other user does."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from steersman.errors import ConfigError
from steersman.serving.private_socket import live_sockets, socket_directory, socket_path
from steersman.serving.server import Listen, Server
from steersman.testing.fake_clock import FakeClock
from tests.serving.apps import RecordingApp

pytestmark = pytest.mark.usefixtures("own_runtime")


@pytest.fixture
def own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the sockets of a test apart from those of the user who runs it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


async def test_a_server_listens_on_a_socket_that_only_its_user_can_reach() -> None:
    """Other users of a machine must not see what an operator did."""
    path = socket_path()
    async with Server(RecordingApp(), clock=FakeClock(), listen=Listen(path=path)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert live_sockets() == [path]
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert (await reader.read()).endswith(b"/a")
        writer.close()
    assert live_sockets() == []


def test_the_socket_of_an_ended_process_is_not_found(own_runtime: Path) -> None:
    """A killed operator leaves its socket behind; a connection to it would be refused."""
    (socket_directory() / f"{2**22 + 1}.sock").touch()
    for name in ("words", "0", "-1", "9" * 21):
        (socket_directory() / f"{name}.sock").touch()
    assert live_sockets() == []
    assert own_runtime.exists()


def test_the_leftover_of_a_process_with_the_same_id_is_removed() -> None:
    """Process ids are reused, in a container always: listening on an existing file would fail."""
    left = socket_directory() / f"{os.getpid()}.sock"
    left.touch()
    assert socket_path() == left
    assert not left.exists()


def test_a_directory_in_the_way_is_named() -> None:
    """The operator then starts without its socket; it must not fail because of a strange file."""
    (socket_directory() / f"{os.getpid()}.sock").mkdir()
    with pytest.raises(ConfigError, match="in the way of a socket"):
        socket_path()


def test_a_directory_that_others_can_enter_is_rejected(own_runtime: Path) -> None:
    """In a shared directory another user may have created it first."""
    (own_runtime / "steersman").mkdir(mode=0o755)
    with pytest.raises(ConfigError, match="only this user"):
        socket_directory()


def test_a_symbolic_link_is_rejected(own_runtime: Path, tmp_path: Path) -> None:
    """A link leads wherever its creator wants."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (own_runtime / "steersman").symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="only this user"):
        socket_directory()
