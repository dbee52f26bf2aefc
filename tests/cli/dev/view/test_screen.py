"""The screen of `steer dev`, as a terminal shows it."""

import io
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from steersman.cli.dev.reports import (
    Changed,
    Failed,
    Kind,
    Loaded,
    LogLine,
    Printed,
    Queue,
    Queues,
    Running,
)
from steersman.cli.dev.view.controls import Controls, keys_of
from steersman.cli.dev.view.dashboard_state import DashboardState
from steersman.cli.dev.view.object_counts import Count
from steersman.cli.dev.view.screen import Screen, ServerAddress
from steersman.history.records import CauseRecord, CauseType, Next, ObjectName, Result
from tests.cli.dev.runs import reconciled

SURROUNDINGS = ServerAddress("https://127.0.0.1:41877", "export KUBECONFIG=/home/somebody/custompod/.steer/kubeconfig")
NOW = datetime.fromtimestamp(400.0, UTC)
COUNTS = [("CustomPod", Count(1)), ("Pod", Count(3, 3, 2))]


def busy_dashboard() -> DashboardState:
    """Return a dashboard on which everything has happened, and more than fits."""
    dashboard = DashboardState("folder")
    dashboard.take(Loaded("custompod", ["custompod"], [Kind("CustomPod", "custompods.mock.com")]))
    dashboard.take(Running(0.0, "custompod"))
    for number in range(300):
        key = f"default/a-rather-long-name-{number}"
        name = f"a-rather-long-name-{number}"
        why = CauseRecord(CauseType.CREATED, ObjectName("Pod", "default", f"{name}-x7f2c"))
        dashboard.take(reconciled(name, why, at=float(number)))
        dashboard.take(LogLine(number, "info", "made pods", {"kind": "CustomPod", "key": key, "names": ["a b", "c"]}))
    dashboard.take(Printed(300.0, "[red]no markup[/red] of the author's"))
    dashboard.take(Queues({"custompod": Queue(5, 1, 2)}))
    dashboard.take(
        LogLine(
            301.0,
            "error",
            "failed",
            {"kind": "CustomPod", "key": "default/a", "error": "ValueError: no " * 40},
            "m.py:3",
        )
    )
    return dashboard


def lines(
    dashboard: DashboardState,
    width: int,
    height: int,
    *,
    colour: bool = False,
    counts: Iterable[tuple[str, Count]] = COUNTS,
    controls: Controls | None = None,
) -> list[str]:
    """Draw on a terminal of that size."""
    file = io.StringIO()
    colours = "truecolor" if colour else None
    console = Console(
        file=file, width=width, height=height, force_terminal=colour, color_system=colours, legacy_windows=False
    )
    console.print(Screen(dashboard, SURROUNDINGS, list(counts), 3723.0, NOW, controls or Controls()), end="")
    return file.getvalue().splitlines()


@pytest.mark.parametrize("size", [(80, 24), (140, 50), (200, 24), (60, 18)], ids=str)
@pytest.mark.parametrize("is_busy", [True, False])
def test_it_fills_the_terminal_and_no_line_is_too_long(size: tuple[int, int], *, is_busy: bool) -> None:
    """One line more would scroll the screen; a line too long would be wrapped by the terminal."""
    width, height = size
    shown = lines(busy_dashboard() if is_busy else DashboardState("folder"), width, height)
    assert len(shown) == height
    assert max(map(len, shown)) <= width
    assert shown[-1].startswith("Ctrl-C ends it")


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (400, 3)], ids=str)
def test_a_tiny_terminal_does_not_fail(size: tuple[int, int]) -> None:
    """Users resize windows."""
    assert lines(busy_dashboard(), *size)


def test_it_shows_commands_state_runs_and_errors() -> None:
    """What to type, the state, the newest runs and log lines, and the error with its location."""
    shown = lines(busy_dashboard(), 100, 30)
    text = "\n".join(shown)
    assert shown[0].startswith("custompod  running")
    assert shown[0].endswith("1:02:03")
    assert SURROUNDINGS.export in text
    assert "Pod          2/3" in text
    assert "custompod    300       0       5       1        2" in text
    assert "LAST ERROR  m.py:3  CustomPod default/a" in text
    assert "default/a-rather-long-name-299" in text
    assert "[red]no markup[/red]" in text


def test_a_broken_file_is_shown_with_its_location() -> None:
    """The reason why nothing happens is in the middle of the screen."""
    dashboard = DashboardState("folder")
    dashboard.take(Changed(1.0, ["custompod/main.py", "custompod/operator.py"]))
    dashboard.take(Failed(2.0, "SyntaxError: invalid syntax", "custompod/main.py:7"))
    text = "\n".join(lines(dashboard, 80, 24, counts=[]))
    assert "folder  not running  reloaded, custompod/main.py and 1 more changed" in text
    assert "LAST ERROR  custompod/main.py:7" in text
    assert "SyntaxError: invalid syntax" in text


def test_colours_add_nothing_that_words_do_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every user sees them, and NO_COLOR removes them."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = "\n".join(lines(busy_dashboard(), 100, 30, colour=True))
    assert "\x1b[1;32mrunning" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;32m" not in "\n".join(lines(busy_dashboard(), 100, 30, colour=True))


def test_a_long_path_is_wrapped_and_never_cut() -> None:
    """Users copy it."""
    export = f"export KUBECONFIG=/home/{'somebody/' * 20}kubeconfig"
    file = io.StringIO()
    Console(file=file, width=80, height=24).print(
        Screen(DashboardState("x"), ServerAddress("u", export), [], 0.0, NOW), end=""
    )
    shown = file.getvalue().splitlines()
    assert len(shown) == 24
    assert export in "".join(shown)


def test_what_does_not_fit_is_counted() -> None:
    """Six of eleven kinds look like all of them."""
    counts = [(f"Kind{number}", Count(number)) for number in range(11)]
    text = "\n".join(lines(busy_dashboard(), 80, 24, counts=counts))
    assert "+8 more" in text
    assert "RECONCILED (+19" in text
    assert "Kind10" not in text


def test_runs_can_be_scrolled_to_the_oldest_and_back() -> None:
    """The run that matters is seldom the last one."""
    controls, dashboard = Controls(), busy_dashboard()
    for key in keys_of(b"k\x1b[A\x1b[5~"):
        controls.press(key)
    text = "\n".join(lines(dashboard, 100, 30, controls=controls))
    assert "+12 newer)" in text
    assert "name-299" not in text.partition("LOG")[0].partition("RECONCILED")[2]
    controls.press("home")
    assert "name-100 " in "\n".join(lines(dashboard, 100, 30, controls=controls))
    controls.press("end")
    assert "name-299" in "\n".join(lines(dashboard, 100, 30, controls=controls))


def test_a_filter_is_typed_kept_and_cleared() -> None:
    """Words that an object, a controller, a result or a message has, in any order."""
    controls, dashboard = Controls(), busy_dashboard()
    dashboard.take(reconciled("shop", result=Result.FAILED, message="No disk", at=300.0))
    for key in keys_of(b"/disk FAILED"):
        controls.press(key)
    shown = lines(dashboard, 80, 24, controls=controls)
    assert shown[-1].startswith("filter: disk FAILED")
    assert "CustomPod default/shop" in "\n".join(shown)
    assert "a-rather-long-name" not in "\n".join(shown)
    for key in keys_of(b"\x7f\x7f\x7f\x7f\x7f\x7f\x7f nothing\r"):
        controls.press(key)
    shown = lines(dashboard, 80, 24, controls=controls)
    assert shown[-1].endswith('filter "disk nothing", esc clears it')
    assert "no run matches" in "\n".join(shown)
    controls.press("esc")
    assert controls == Controls()


def test_a_run_that_is_repeated_says_when() -> None:
    """A user who waits for it wants to know whether that is worth it."""
    dashboard = DashboardState("folder")
    dashboard.take(reconciled("a", at=399.0, next=Next(NOW + timedelta(minutes=4))))
    assert "next run in 4 min" in "\n".join(lines(dashboard, 80, 24))


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\x1b[99;5u", b"\x00\x01", "ü/é".encode()])
def test_any_bytes_of_a_terminal_are_taken(data: bytes) -> None:
    """A pasted file, or a key that only one keyboard has."""
    controls = Controls()
    for key in keys_of(data):
        controls.press(key)
