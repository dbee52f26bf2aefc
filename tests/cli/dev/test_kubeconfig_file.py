"""The kubeconfig that `steer dev` leaves for kubectl while it runs."""

import stat
from pathlib import Path

import pytest

from steersman.cli.dev.kubeconfig_file import kubeconfig_file
from steersman.errors import ConfigError


def test_it_is_private_and_deleted_afterwards_with_its_folder(tmp_path: Path) -> None:
    """It is a secret, and a leftover would point kubectl to a server that no longer exists."""
    path = tmp_path / ".steer/kubeconfig"
    with kubeconfig_file(path, keep=False) as file:
        file.write(b"secret")
        assert path.read_bytes() == b"secret"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(tmp_path.iterdir()) == []


def test_a_leftover_is_overwritten_whatever_its_mode(tmp_path: Path) -> None:
    """After a kill -9 the next start cleans up."""
    path = tmp_path / ".steer/kubeconfig"
    path.parent.mkdir()
    path.write_text("a longer content of former times")
    path.chmod(0o644)
    with kubeconfig_file(path, keep=False) as file:
        file.write(b"secret")
        assert path.read_bytes() == b"secret"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == []


def test_a_second_instance_is_rejected_and_the_first_keeps_its_file(tmp_path: Path) -> None:
    """Otherwise kubectl would suddenly talk to another cluster."""
    path = tmp_path / "kubeconfig"
    with kubeconfig_file(path, keep=False) as file:
        file.write(b"first")
        with pytest.raises(ConfigError, match="is in use"), kubeconfig_file(path, keep=False):
            pass
        assert path.read_bytes() == b"first"


def test_it_stays_with_a_stored_cluster_as_does_the_users_folder(tmp_path: Path) -> None:
    """A user who keeps the cluster expects to find it again."""
    kept = tmp_path / "kept"
    with kubeconfig_file(kept, keep=True) as file:
        file.write(b"content")
    assert kept.read_bytes() == b"content"
    with kubeconfig_file(tmp_path / "other", keep=False):
        pass
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.parametrize("name", ["folder", "link", "file/kubeconfig"])
def test_a_path_that_cannot_be_written_is_reported(tmp_path: Path, name: str) -> None:
    """One sentence with the path; a symbolic link is rejected because it could lead anywhere."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match=f"cannot write .*{name}"), kubeconfig_file(tmp_path / name, keep=False):
        pass
    assert not (tmp_path / "elsewhere").exists()
