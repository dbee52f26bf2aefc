"""The reports in the pipe between the operator's process and `steer dev`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.cli.dev.reports import (
    Changed,
    Failed,
    Kind,
    Lines,
    Loaded,
    LogLine,
    Printed,
    Queue,
    Queues,
    Report,
    Running,
    line_of,
    report_of,
)
from steersman.history.records import CauseRecord, CauseType
from tests.cli.dev.runs import reconciled


@pytest.mark.parametrize(
    "report",
    [
        Loaded("custompod", ["custompod"], [Kind("Pod", "pods")]),
        Running(1.5, "custompod"),
        reconciled("a", CauseRecord(CauseType.TIMER), message="a\nb"),
        Queues({"custompod": Queue(3, 1, 2)}),
        LogLine(1.5, "error", "reconcile\nfailed", {"key": "default/a", "tries": [1, "x"]}, "main.py:3", "Traceback"),
        Printed(1.5, "a line\twith ünicode"),
        Failed(1.5, "SyntaxError: invalid syntax", "main.py:7"),
        Changed(1.5, ["main.py"]),
    ],
)
def test_a_report_is_one_line_and_is_decoded_unchanged(report: Report) -> None:
    """A line break inside a message must not cut it in two."""
    line = line_of(report)
    assert line.count(b"\n") == 1
    assert report_of(line.rstrip(b"\n")) == report


@given(st.lists(st.binary(max_size=5)))
def test_lines_are_the_same_whatever_the_chunks(chunks: list[bytes]) -> None:
    """A pipe returns any part of what was written."""
    lines = Lines()
    found = [line for chunk in chunks for line in lines.feed(chunk)] + lines.end()
    whole = b"".join(chunks).split(b"\n")
    assert found == (whole if whole[-1] else whole[:-1])


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"type": "unknown"}', b'{"type": "running"}', b"\xff"])
def test_a_line_that_is_not_a_report_is_skipped(line: bytes) -> None:
    """A process killed in the middle of a line must not invalidate the other lines."""
    assert report_of(line) is None
