"""Logs of containers: stored in small files, followed while they are written, filtered by options."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from steersman.localcluster.process_node.containers.container_log import ContainerLog, Entry, read_log, remove_log
from steersman.localcluster.process_node.remote.log_selection import LogSelection

NOW = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)


def texts(path: Path) -> list[bytes]:
    """Return the stored texts."""
    return [entry.text for entry in read_log(path)]


def test_lines_are_stored_with_their_time_and_stream(tmp_path: Path) -> None:
    """In the format that log collectors read."""
    log = ContainerLog(tmp_path / "0.log")
    log.write("stdout", b"one\ntw", NOW)
    log.write("stderr", b"oops\n", NOW)
    log.write("stdout", b"o\nthree", NOW)
    assert (tmp_path / "0.log").read_bytes().splitlines()[0] == b"2030-01-01T12:00:00.123456Z stdout F one"
    assert texts(tmp_path / "0.log") == [b"one", b"oops", b"two"]
    log.close(NOW)
    assert texts(tmp_path / "0.log") == [b"one", b"oops", b"two", b"three"]


def test_the_size_of_a_log_is_bounded(tmp_path: Path) -> None:
    """There is one older file beside the current one."""
    log = ContainerLog(tmp_path / "0.log", file_bytes=500)
    for number in range(100):
        log.write("stdout", b"line %d\n" % number, NOW)
    log.close(NOW)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 1000
    kept = texts(tmp_path / "0.log")
    assert kept == [b"line %d" % number for number in range(100 - len(kept), 100)]
    remove_log(tmp_path / "0.log")
    assert list(tmp_path.iterdir()) == []


def test_an_incomplete_line_is_left_out(tmp_path: Path) -> None:
    """The machine may lose power at any byte."""
    (tmp_path / "0.log").write_bytes(b"2030-01-01T12:00:00.123456Z stdout F one\n2030-01-01T")
    assert texts(tmp_path / "0.log") == [b"one"]


def test_followers_get_later_lines_and_the_end(tmp_path: Path) -> None:
    """And nothing after they have stopped."""
    log = ContainerLog(tmp_path / "0.log")
    heard: list[bytes | None] = []
    other: list[bytes | None] = []
    log.follow(lambda entry: heard.append(None if entry is None else entry.text))
    leave = log.follow(lambda entry: other.append(None if entry is None else entry.text))
    log.write("stdout", b"a\n", NOW)
    leave()
    log.write("stdout", b"b", NOW)
    log.close(NOW)
    log.close(NOW)
    assert (heard, other) == ([b"a", b"b", None], [b"a"])
    log.follow(lambda entry: other.append(None if entry is None else entry.text))
    assert other == [b"a", None]


@given(st.lists(st.binary(max_size=40_000), max_size=4))
def test_any_output_is_shown_unchanged(chunks: list[bytes]) -> None:
    """Lines of any length, and bytes that are not text."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "0.log"
        log = ContainerLog(path)
        for chunk in chunks:
            log.write("stdout", chunk, NOW)
        log.close(NOW)
        selection = LogSelection()
        shown = b"".join(selection.encode(entry) for entry in selection.begin(read_log(path)))
    written = b"".join(chunks)
    assert shown == written + (b"" if not written or written.endswith(b"\n") else b"\n")


def entries(*names: str) -> list[Entry]:
    """Return lines that are a second apart."""
    return [Entry(NOW + timedelta(seconds=at), "stdout", name.encode()) for at, name in enumerate(names)]


def shown(selection: LogSelection, *lines: Entry) -> bytes:
    """Return the lines that are shown."""
    return b"".join(selection.encode(entry) for entry in selection.begin(lines))


def test_the_last_lines_can_be_requested() -> None:
    """A line in several parts is one line."""
    pieces = [Entry(NOW, "stdout", b"lo", is_whole=False), Entry(NOW, "stdout", b"ng")]
    assert shown(LogSelection(tail=2), *entries("a", "b"), *pieces) == b"b\nlong\n"
    assert shown(LogSelection(tail=0), *entries("a")) == b""
    assert shown(LogSelection(tail=9), *entries("a")) == b"a\n"


def test_recent_lines_and_one_stream_can_be_requested() -> None:
    """`--since`, and only stderr."""
    assert shown(LogSelection(since=NOW + timedelta(seconds=1)), *entries("a", "b", "c")) == b"b\nc\n"
    error = Entry(NOW, "stderr", b"oops")
    assert shown(LogSelection(stream="Stderr"), *entries("a"), error) == b"oops\n"


def test_each_line_has_its_time_once() -> None:
    """With nine digits, as a kubelet prints it."""
    pieces = [Entry(NOW, "stdout", b"lo", is_whole=False), Entry(NOW, "stdout", b"ng")]
    assert shown(LogSelection(timestamps=True), *pieces) == b"2030-01-01T12:00:00.123456000Z long\n"


def test_a_limit_of_bytes_is_exact() -> None:
    """Even in the middle of a line."""
    selection = LogSelection(limit=5)
    assert shown(selection, *entries("abc", "def")) == b"abc\nd"
    assert selection.is_full
