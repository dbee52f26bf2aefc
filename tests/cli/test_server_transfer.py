import gc
from pathlib import Path

from click.testing import CliRunner

from steersman.apiserver.journal.directory import DataDirectory
from steersman.apiserver.storage.record import Record
from steersman.cli.server import command

OBJECT = Record({"metadata": {"name": "c", "namespace": "default", "uid": "u"}}, 2, {})


def run(*arguments: str | Path) -> tuple[int, str]:
    """Run ``steer server`` with arguments; return the exit code and the output."""
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    gc.enable()  # a starting server disables it
    return result.exit_code, result.output.replace("\n", " ")


def test_a_cluster_is_moved_through_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    """The two commands are inverse to each other; the file contains Secrets."""
    source, file = DataDirectory(tmp_path / "a"), tmp_path / "file"
    with source.locked():
        source.fill(2, [("configmaps", OBJECT)])
    assert run("export", file, "--data", tmp_path / "a") == (0, f"1 objects written to {file} ")
    assert file.stat().st_mode & 0o077 == 0
    assert run("import", file, "--data", tmp_path / "b") == (0, f"1 objects read into {tmp_path / 'b'} ")
    assert DataDirectory(tmp_path / "b").load().resource_version == "2"


def test_a_failed_export_or_import_is_one_sentence(tmp_path: Path) -> None:
    """Users mistype paths; they need no traceback."""
    code, text = run("export", tmp_path / "file", "--data", tmp_path / "none")
    assert code == 2
    assert f"there is no cluster in {tmp_path / 'none'}" in text
    code, text = run("import", tmp_path / "file", "--data", tmp_path / "none")
    assert code == 2
    assert f"cannot read {tmp_path / 'file'}" in text


def test_an_unusable_directory_is_an_error_before_the_server_starts(tmp_path: Path) -> None:
    """A server that starts anyway would lose its data."""
    (tmp_path / "cluster.db").write_bytes(b"dear diary" * 100)
    code, text = run("--data", tmp_path, "--kubeconfig", tmp_path / "kubeconfig")
    assert code == 2
    assert "is not a cluster of Steersman" in text
    assert not (tmp_path / "kubeconfig").exists()
