"""Reports as lines of text."""

import pytest

from steersman.cli.dev.reports import (
    Changed,
    Failed,
    Kind,
    Loaded,
    LogLine,
    Printed,
    Queues,
    Reconciled,
    Report,
    Running,
)
from steersman.cli.dev.view.texts import duration, elapsed, line_of, time_of, why, why_briefly

AT = 1_700_000_000.0
CLOCK = time_of(AT)


def run(*causes: str, result: str = "success") -> Reconciled:
    """Return a run with its causes."""
    return Reconciled(AT, "custompod", "CustomPod", "default/a", result, 0.0031, list(causes))


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0001, "0.1 ms"), (0.0031, "3.1 ms"), (0.9994, "999.4 ms"), (2, "2.0 s"), (90, "1.5 min")]
)
def test_durations_are_short(seconds: float, text: str) -> None:
    """They are shown in a column."""
    assert duration(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (65.9, "1:05"), (3723, "1:02:03")])
def test_the_age_is_shown_like_a_clock(seconds: float, text: str) -> None:
    """As terminals show it."""
    assert elapsed(seconds) == text


def test_causes_of_the_object_itself_have_no_name_and_are_not_repeated() -> None:
    """The object's name is beside them already."""
    causes = why(run("CustomPod default/a changed (spec)", "Pod default/a-x created", "Pod default/a-x created"))
    assert causes == "changed (spec), Pod a-x created"


def test_many_causes_are_counted_and_another_namespace_is_shown() -> None:
    """A restart of the operator has as many causes as there are objects."""
    causes = why(run(*(f"Pod default/{name} exists" for name in "abcde")))
    assert causes == "Pod a exists, Pod b exists, Pod c exists, 2 more"
    assert why(run("Pod other/a exists")) == "Pod other/a exists"
    cluster_scoped = Reconciled(AT, "node", "Node", "a", "success", 0.1, ["Pod default/b exists"])
    assert why(cluster_scoped) == "Pod default/b exists"


def test_in_a_narrow_column_causes_have_no_names() -> None:
    """The event matters more than the name, and three changed pods are one reason."""
    pods = (f"Pod default/{name} changed (status)" for name in "abc")
    assert why_briefly(run("CustomPod default/a created", *pods)) == "created, Pod changed (status)"
    assert why_briefly(run("retry (ValueError)")) == "retry (ValueError)"


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (run("CustomPod default/a created"), "INFO    CustomPod default/a ok in 3.1 ms: created"),
        (run("retry", result="error"), "ERROR   CustomPod default/a failed in 3.1 ms: retry"),
        (
            LogLine(
                AT, "warning", "odd", {"kind": "CustomPod", "key": "default/a", "controller": "c", "disks": ["a b"]}
            ),
            "WARNING CustomPod default/a: odd disks='[a b]'",
        ),
        (LogLine(AT, "error", "failed", {}, "main.py:3", "Traceback …"), "ERROR   failed (main.py:3)\nTraceback …"),
        (
            Failed(AT, "SyntaxError: no", "main.py:7"),
            "ERROR   main.py:7: SyntaxError: no; waiting for a file to change",
        ),
        (Failed(AT, "it ended"), "ERROR   it ended; waiting for a file to change"),
        (Changed(AT, ["main.py"]), "INFO    main.py changed: restarting the operator"),
        (Running(AT, "custompod"), "INFO    custompod is running"),
    ],
)
def test_a_report_is_a_line_with_time_and_level(report: Report, text: str) -> None:
    """The output of `--plain`."""
    shown = line_of(report)
    assert shown is not None
    assert shown[0] == f"{CLOCK} {text}"


def test_printed_lines_are_unchanged_and_queue_lengths_are_left_out() -> None:
    """A print is meant to be read; the length of a queue is for the screen."""
    assert line_of(Printed(AT, "  as it is")) == ("  as it is", "printed")
    assert line_of(Queues({})) is None
    assert line_of(Loaded("a", [], [Kind("Pod", "pods")])) is None
