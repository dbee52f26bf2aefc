"""The state that the screen of `steer dev` shows, report by report."""

from steersman.cli.dev.reports import (
    Changed,
    Failed,
    Kind,
    Loaded,
    LogLine,
    Printed,
    Queue,
    Queues,
    Reconciled,
    Running,
)
from steersman.cli.dev.view.dashboard_state import DashboardState, Phase, Problem
from steersman.history.records import Result
from tests.cli.dev.runs import reconciled

LOADED = Loaded("custompod", ["custompod", "janitor"], [Kind("CustomPod", "custompods.mock.com")])


def run(name: str = "a", result: Result = Result.DONE) -> Reconciled:
    """Return one run."""
    return reconciled(name, result=result)


def failure(key: str = "default/a") -> LogLine:
    """Return the log line of a failed run."""
    fields = {"kind": "CustomPod", "key": key, "error": "ValueError: no"}
    return LogLine(2.0, "error", "reconcile failed", fields, "main.py:3")


def dashboard(*reports: object) -> DashboardState:
    """Return the state after some reports."""
    made = DashboardState("folder")
    for report in reports:
        made.take(report)  # type: ignore[arg-type]  # one signature for all kinds of reports
    return made


def test_an_operator_is_loaded_and_runs() -> None:
    """The title shows its state, and every controller is listed from the beginning."""
    assert dashboard().phase is Phase.STARTING
    loaded = dashboard(LOADED)
    assert (loaded.name, loaded.phase, list(loaded.work)) == ("custompod", Phase.STARTING, ["custompod", "janitor"])
    assert dashboard(LOADED, Running(1.0, "custompod")).phase is Phase.RUNNING


def test_runs_and_queues_are_counted_by_controller() -> None:
    """A number that stands in the wrong line misleads."""
    seen = dashboard(
        LOADED, run(), run(result=Result.FAILED), run(result=Result.RETRY), Queues({"janitor": Queue(ready=4)})
    )
    assert (seen.work["custompod"].runs, seen.work["custompod"].failed) == (3, 1)
    assert (seen.work["janitor"].runs, seen.work["janitor"].queue.ready) == (0, 4)


def test_the_last_error_stays_until_its_object_succeeds() -> None:
    """An error that is over is no error; one of another object still is."""
    seen = dashboard(LOADED, failure(), run("b"))
    assert seen.problem == Problem(2.0, "ValueError: no", "main.py:3", "CustomPod default/a")
    seen.take(run("a", Result.FAILED))
    assert seen.problem is not None
    seen.take(run("a"))
    assert seen.problem is None


def test_a_file_that_cannot_be_loaded_is_shown_until_it_changes() -> None:
    """The author sees the location, saves the file, and the error disappears."""
    seen = dashboard(LOADED, Running(1.0, "custompod"), Queues({"custompod": Queue(ready=4)}))
    seen.take(Failed(3.0, "SyntaxError: invalid syntax", "main.py:7"))
    assert seen.phase is Phase.BROKEN
    assert seen.problem == Problem(3.0, "SyntaxError: invalid syntax", "main.py:7")
    assert seen.work["custompod"].queue == Queue()
    seen.take(Changed(4.0, ["main.py"]))
    assert (seen.phase, seen.problem, seen.reloads, seen.changed) == (Phase.STARTING, None, 1, ("main.py",))


def test_new_code_counts_from_zero_but_keeps_earlier_lines() -> None:
    """The author compares with the earlier runs and lines."""
    seen = dashboard(LOADED, run(), Printed(2.0, "hello"), Changed(4.0, ["main.py"]), LOADED)
    assert seen.work["custompod"].runs == 0
    assert (len(seen.runs), len(seen.lines)) == (1, 1)


def test_a_warning_without_an_error_is_not_an_error() -> None:
    """The author's own warnings are log lines, nothing more."""
    assert dashboard(LogLine(2.0, "warning", "odd", {"key": "default/a"})).problem is None
    assert dashboard(LogLine(2.0, "info", "fine", {"error": "none"})).problem is None
