"""The screen of `steer dev`, as a terminal shows it."""

import io
from collections.abc import Iterable

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
    Reconciled,
    Running,
)
from steersman.cli.dev.view.dashboard_state import DashboardState
from steersman.cli.dev.view.object_counts import Count
from steersman.cli.dev.view.screen import Screen, ServerAddress

SURROUNDINGS = ServerAddress("https://127.0.0.1:41877", "export KUBECONFIG=/home/somebody/custompod/.steer/kubeconfig")
COUNTS = [("CustomPod", Count(1)), ("Pod", Count(3, 3, 2))]


def busy_dashboard() -> DashboardState:
    """Return a dashboard on which everything has happened, and more than fits."""
    dashboard = DashboardState("folder")
    dashboard.take(Loaded("custompod", ["custompod"], [Kind("CustomPod", "custompods.mock.com")]))
    dashboard.take(Running(0.0, "custompod"))
    for number in range(300):
        key = f"default/a-rather-long-name-{number}"
        why = [f"Pod {key}-x7f2c created", f"CustomPod {key} changed (spec)"]
        dashboard.take(Reconciled(number, "custompod", "CustomPod", key, "success", 0.003, why))
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
) -> list[str]:
    """Draw on a terminal of that size."""
    file = io.StringIO()
    colours = "truecolor" if colour else None
    console = Console(
        file=file, width=width, height=height, force_terminal=colour, color_system=colours, legacy_windows=False
    )
    console.print(Screen(dashboard, SURROUNDINGS, list(counts), 3723.0), end="")
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
        Screen(DashboardState("x"), ServerAddress("u", export), [], 0.0), end=""
    )
    shown = file.getvalue().splitlines()
    assert len(shown) == 24
    assert export in "".join(shown)
