import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steersman.apiserver.journal.database import FORMAT, Gone, Row
from steersman.apiserver.journal.directory import DataDirectory, Identity
from steersman.apiserver.journal.transfer import exported, import_cluster
from steersman.apiserver.storage.record import Record
from steersman.errors import ConfigError, Expired

MAPS = "configmaps"


def record(name: str, version: int, value: str = "v") -> Record:
    """Return a small object at a version."""
    metadata = {"name": name, "namespace": "default", "uid": name, "ownerReferences": [{"uid": "o"}]}
    return Record({"kind": "ConfigMap", "metadata": metadata, "data": {"value": value}}, version, {"f": "1"})


def cluster(path: Path, count: int = 40) -> DataDirectory:
    """Create a cluster with some objects and close it cleanly, so that everything is in one file."""
    directory = DataDirectory(path)
    path.mkdir(exist_ok=True)
    database = directory.open()
    for version in range(2, count + 2):
        database.write([Row.of(MAPS, record(f"c{version}", version, "v" * 300))], version)
    database.close()
    return directory


def test_written_objects_are_read_with_their_versions_and_indexes(tmp_path: Path) -> None:
    """A start must continue where the last one ended, even if the last writes were deletes."""
    directory = cluster(tmp_path, 3)
    database = directory.open()
    database.write([Gone(MAPS, "default", "c4"), Row.of(MAPS, record("c2", 6, "new"))], 7)
    database.close()
    store = directory.load()
    assert store.resource_version == "7"
    assert [found.name for found in store.list(MAPS).records] == ["c2", "c3"]
    found = store.get(MAPS, "default", "c2")
    assert found is not None
    assert (found.decode()["data"], found.version, found.fields) == ({"value": "new"}, 6, {"f": "1"})
    assert len(store.dependents_of("o")) == 2
    with pytest.raises(Expired):
        store.events_since(MAPS, "6")
    assert store.events_since(MAPS, "7") == []
    with pytest.raises(Expired):
        store.events_since("secrets", "6")


def test_a_batch_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A delete without its create would be as wrong as a lost write."""
    directory = cluster(tmp_path, 1)
    database = directory.open()
    bad = Row(MAPS, "default", "x", 9, b"{}", None, 0)  # type: ignore[arg-type]  # SQLite must refuse the row
    with pytest.raises(sqlite3.IntegrityError):
        database.write([Gone(MAPS, "default", "c2"), bad], 9)
    database.close()
    assert directory.load().resource_version == "2"
    assert directory.load().count(MAPS) == 1


def test_a_file_of_another_format_is_rejected_and_not_changed(tmp_path: Path) -> None:
    """A wrong option must not overwrite a user's file."""
    content = b"dear diary" * 100
    (tmp_path / "cluster.db").write_bytes(content)
    with pytest.raises(ConfigError, match=r"not a cluster of Steersman.*left untouched"):
        DataDirectory(tmp_path).load()
    assert (tmp_path / "cluster.db").read_bytes() == content


def test_a_database_of_another_program_is_rejected_and_not_changed(tmp_path: Path) -> None:
    """It may have a table of the same name."""
    with closing(sqlite3.connect(tmp_path / "cluster.db")) as connection:
        connection.execute("CREATE TABLE objects (a)")
        connection.commit()
    before = (tmp_path / "cluster.db").read_bytes()
    with pytest.raises(ConfigError, match=r"another program.*left untouched"):
        DataDirectory(tmp_path).load()
    assert (tmp_path / "cluster.db").read_bytes() == before


def test_a_file_of_a_newer_version_is_rejected_and_not_changed(tmp_path: Path) -> None:
    """An older program cannot know what it would break."""
    directory = cluster(tmp_path, 1)
    with closing(sqlite3.connect(tmp_path / "cluster.db")) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    before = (tmp_path / "cluster.db").read_bytes()
    with pytest.raises(ConfigError, match=f"newer Steersman \\(format {FORMAT + 1}, this one knows {FORMAT}"):
        directory.load()
    assert (tmp_path / "cluster.db").read_bytes() == before


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_damage_is_rejected_or_harmless_and_changes_nothing(tmp_path: Path, data: st.DataObject) -> None:
    """A changed byte may be in an unused place, but no object may be read changed, or be missing."""
    directory = tmp_path / "damaged"
    if not directory.exists():
        cluster(directory)
        (tmp_path / "good").write_bytes((directory / "cluster.db").read_bytes())
    file = directory / "cluster.db"
    content = bytearray((tmp_path / "good").read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    found = _read(DataDirectory(directory))
    if isinstance(found, str):
        assert "left untouched" in found
    else:
        assert found == {f"c{number}": "v" * 300 for number in range(2, 42)}
    assert file.read_bytes() == bytes(content)


def _read(directory: DataDirectory) -> dict[str, str] | str:
    """Return the values of all objects, or why they cannot be read."""
    try:
        version, records = directory.read()
    except ConfigError as error:
        return str(error)
    assert version >= len(records)
    return {found.name: found.decode()["data"]["value"] for _, found in records}


def test_a_truncated_file_is_rejected(tmp_path: Path) -> None:
    """A full disk or an interrupted copy leaves such files."""
    directory = cluster(tmp_path)
    os.truncate(tmp_path / "cluster.db", 8192)
    with pytest.raises(ConfigError, match="damaged"):
        directory.load()


@pytest.mark.parametrize("loss", ["removed", "cut", "flipped"])
def test_a_truncated_sqlite_log_is_detected(tmp_path: Path, loss: str) -> None:
    """SQLite takes a damaged log for a shorter one, so acknowledged writes would be lost silently."""
    cluster(tmp_path, 1)
    directory = DataDirectory(tmp_path)
    database = directory.open()
    for version in range(3, 30):
        database.write([Row.of(MAPS, record(f"c{version}", version))], version)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("cluster.db", "cluster.db-wal", "watermark"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    database.close()
    assert DataDirectory(copy).load().resource_version == "29"
    log = copy / "cluster.db-wal"
    content = bytearray(log.read_bytes())
    if loss == "removed":
        log.unlink()
    elif loss == "cut":
        log.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 0xFF
        log.write_bytes(content)
    with pytest.raises(ConfigError, match="but had more"):
        DataDirectory(copy).load()


def test_two_servers_do_not_share_a_directory(tmp_path: Path) -> None:
    """Each would overwrite what the other wrote."""
    other = DataDirectory(tmp_path).locked()
    with DataDirectory(tmp_path).locked(), pytest.raises(ConfigError, match="used by another server"), other:
        pass
    with DataDirectory(tmp_path).locked():
        pass


def test_only_the_owner_can_read_the_files_of_a_cluster(tmp_path: Path) -> None:
    """They contain Secrets and keys."""
    directory = DataDirectory(tmp_path / "data")
    with directory.locked():
        directory.open().close()
        directory.keep_identity(Identity(b"certificate", b"key", b"accounts", "token"))
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    for path in (tmp_path / "data").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    assert directory.identity() == Identity(b"certificate", b"key", b"accounts", "token")
    assert "token" not in repr(directory.identity()).replace("Identity", "")


def test_an_exported_cluster_is_imported_unchanged(tmp_path: Path) -> None:
    """Uids, versions and everything else must survive a move."""
    source = cluster(tmp_path / "source", 5)
    count, content = exported(source)
    (tmp_path / "file").write_bytes(content)
    target = DataDirectory(tmp_path / "target")
    assert import_cluster(target, tmp_path / "file") == count == 5
    version, records = target.read()
    wanted_version, wanted = source.read()
    assert version == wanted_version
    assert [(name, found.raw, found.version, found.fields) for name, found in records] == [
        (name, found.raw, found.version, found.fields) for name, found in wanted
    ]


def test_an_export_can_be_taken_while_the_cluster_is_in_use(tmp_path: Path) -> None:
    """A copy must not require stopping the server."""
    directory = cluster(tmp_path, 2)
    with directory.locked():
        database = directory.open()
        database.write([Row.of(MAPS, record("new", 9))], 9)
        assert exported(directory)[0] == 3
        database.close()


def test_an_import_does_not_change_an_existing_cluster(tmp_path: Path) -> None:
    """An import moves a cluster; it does not merge two."""
    source = cluster(tmp_path / "a", 1)
    (tmp_path / "file").write_bytes(exported(source)[1])
    other = cluster(tmp_path / "b", 2)
    with pytest.raises(ConfigError, match="there is a cluster in"):
        import_cluster(other, tmp_path / "file")
    assert other.load().count(MAPS) == 2


def _lines(directory: DataDirectory) -> list[bytes]:
    return exported(directory)[1].splitlines(keepends=True)


def test_a_changed_file_is_not_imported(tmp_path: Path) -> None:
    """The error names the line, and nothing is created: half a cluster would be useless."""
    lines = _lines(cluster(tmp_path / "source", 3))
    newer = lines[0].replace(b'"version":1', b'"version":2')
    cases = {
        "it is incomplete": lines[:1],
        "line 4": lines[:-1],
        "should have 3 objects, but has 2": [*lines[:2], *lines[3:]],
        "line 3": [*lines[:2], b"{\n", *lines[3:]],
        "no usable metadata": [*lines[:1], lines[1].replace(b'"metadata"', b'"other"'), *lines[2:]],
        "newer Steersman": [newer, *lines[1:]],
        "not an export": [lines[0].replace(b"steersman-cluster", b"other"), *lines[1:]],
    }
    for text, content in cases.items():
        (tmp_path / "file").write_bytes(b"".join(content))
        target = DataDirectory(tmp_path / "target")
        with pytest.raises(ConfigError, match=text):
            import_cluster(target, tmp_path / "file")
        assert not target.has_cluster


def test_a_missing_path_is_reported(tmp_path: Path) -> None:
    """A wrong path is the most common mistake."""
    with pytest.raises(ConfigError, match="there is no cluster"):
        exported(DataDirectory(tmp_path))
    with pytest.raises(ConfigError, match="cannot read"):
        import_cluster(DataDirectory(tmp_path), tmp_path / "nothing")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot use"), DataDirectory(tmp_path / "file").locked():
        pass
