"""Reports as lines of text."""

from datetime import UTC, datetime, timedelta
from typing import Any

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
from steersman.cli.dev.view.texts import duration, elapsed, line_of, result, time_of, why, why_briefly
from steersman.history.records import CauseRecord, CauseType, FieldChange, Next, ObjectName, Result
from tests.cli.dev.runs import reconciled

AT = 1_700_000_000.0
CLOCK = time_of(AT)


OWN = ObjectName("CustomPod", "default", "a", "mock.com")
NOW = datetime.fromtimestamp(AT, UTC)


def run(*causes: CauseRecord, **fields: Any) -> Reconciled:
    """Return a run with its causes."""
    return reconciled("a", *causes, at=AT, **fields)


def pod(name: str, type_: CauseType = CauseType.CREATED, namespace: str = "default") -> CauseRecord:
    """Return what happened to a pod."""
    return CauseRecord(type_, ObjectName("Pod", namespace, name))


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


def test_causes_are_worded_as_in_steer_why_and_not_repeated() -> None:
    """One language for all views: what changed, from what to what."""
    changed = CauseRecord(CauseType.CHANGED, OWN, "spec", (FieldChange("spec.replicas", "2", "3"),))
    assert why(run(changed, pod("a-x"), pod("a-x"))) == "spec.replicas changed 2 → 3, Pod a-x was created"


def test_many_causes_are_counted_and_another_namespace_is_shown() -> None:
    """A restart of the operator has as many causes as there are objects."""
    assert why(run(*map(pod, "abcde"), more_causes=3)).endswith("Pod c was created, 5 more")
    assert why(run(pod("a", namespace="other"))) == "Pod other/a was created"


def test_in_a_narrow_column_causes_have_no_names() -> None:
    """The event matters more than the name, and three changed pods are one reason."""
    pods = (pod(name, CauseType.CHANGED) for name in "abc")
    assert why_briefly(run(CauseRecord(CauseType.CREATED, OWN), *pods)) == "created, Pod changed"
    assert why_briefly(run(CauseRecord(CauseType.RETRY, detail="ValueError"))) == "retry (ValueError)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (42, "42 s"), (250, "4 min"), (7300, "2 h"), (200_000, "2 d"), (-5, "")],
)
def test_a_run_that_is_repeated_says_when(seconds: float, text: str) -> None:
    """A word such as "later" does not say whether to wait for it."""
    repeated = run(next=Next(NOW + timedelta(seconds=seconds)))
    assert result(repeated, NOW) == (f"next run in {text}" if text else "ok")
    failed = run(next=Next(NOW + timedelta(seconds=seconds)), result=Result.FAILED)
    assert result(failed, NOW) == "failed"


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (run(CauseRecord(CauseType.CREATED, OWN)), "INFO    CustomPod default/a ok in 3.1 ms: it was created"),
        (
            run(CauseRecord(CauseType.RETRY), result=Result.FAILED),
            "ERROR   CustomPod default/a failed in 3.1 ms: of a retry",
        ),
        (
            run(CauseRecord(CauseType.TIMER), next=Next(NOW + timedelta(minutes=4.1))),
            "INFO    CustomPod default/a ok in 3.1 ms: its timer ended; next run in 4 min",
        ),
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
