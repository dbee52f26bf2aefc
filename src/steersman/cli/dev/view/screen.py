"""The screen of `steer dev`: the dashboard as tables, for a terminal of any size. It only draws."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from textwrap import wrap

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from steersman.cli.dev.reports import LogLine, Printed, Reconciled
from steersman.cli.dev.view.controls import Controls
from steersman.cli.dev.view.dashboard_state import DashboardState, Phase, Problem, Work
from steersman.cli.dev.view.object_counts import Count
from steersman.cli.dev.view.texts import duration, elapsed, names, result, said, time_of, why, why_briefly
from steersman.history.records import Result

_PHASES = {Phase.STARTING: "bold yellow", Phase.RUNNING: "bold green", Phase.BROKEN: "bold red"}
_RESULTS = {
    Result.DONE: "green",
    Result.FAILED: "bold red",
    Result.GAVE_UP: "bold red",
    Result.RETRY: "yellow",
    Result.CONFLICT: "yellow",
    Result.WAITING: "cyan",
    Result.PAUSED: "cyan",
}
_LEVELS = {"error": "red", "critical": "red", "warning": "yellow", "debug": "dim"}
_HEADING = "bold cyan"
#: Columns from which counts and controllers stand side by side.
_WIDE = 64
#: Lines besides those that depend on the content: title, address, headings, blank ones, the last.
_FIXED = 9
#: Columns from which the objects that caused a run are named.
_ROOMY = 110
#: Columns of the time, the result and the duration of a run, and what its reasons get at least.
_BESIDE_NAMES = 37 + 18


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Addresses that do not change while `steer dev` runs."""

    url: str
    export: str
    #: The address of the web view; empty without one.
    web_view: str = ""


@dataclass(frozen=True, slots=True)
class Screen:
    """One picture of the board; rich asks it for its lines."""

    dashboard: DashboardState
    server: ServerAddress
    counts: Sequence[tuple[str, Count]]
    #: Seconds since it was started.
    age: float
    now: datetime
    controls: Controls = field(default_factory=Controls)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Return the parts from top to bottom, as many lines of each as the terminal has room for."""
        width = options.max_width
        export = _folded(self.server.export, width)
        if self.server.web_view:
            export = [*export, *_folded(f"web view: {self.server.web_view}", width)]
        room = (options.height or console.height) - _FIXED - len(export)
        overview = _overview(self.counts, self.dashboard, is_wide=width >= _WIDE, rows=max(room // 3, 1))
        room -= overview.row_count
        problem = [] if self.dashboard.problem is None else _problem(self.dashboard.problem, width, max(room // 4, 1))
        yield self._title()
        yield Text(f"Kubernetes API at {self.server.url} - in another terminal:", style="dim", no_wrap=True)
        yield from (*export, Text(""))
        yield overview
        yield from (Text(""), *problem)
        yield from self._history(max(room - len(problem), 2), width)
        yield self._last_line()

    def _title(self) -> RenderableType:
        dashboard = self.dashboard
        title = Text.assemble((dashboard.name, "bold"), "  ", (str(dashboard.phase), _PHASES[dashboard.phase]))
        if dashboard.reloads:
            times = "reloaded" if dashboard.reloads == 1 else f"reloaded {dashboard.reloads} times"
            title.append(f"  {times}, {names(dashboard.changed)} changed", style="dim")
        return _line(title, Text(elapsed(self.age), style="dim"))

    def _history(self, room: int, width: int) -> Iterable[RenderableType]:
        """Return the last runs and the log within the lines that are left: a third for the log, or what is free."""
        runs = [one for one in self.dashboard.runs if self.controls.shows_run(one)]
        lines = [one for one in self.dashboard.lines if self.controls.shows_line(one)]
        for_lines = min(len(lines), max(room // 3, room - max(len(runs), 1)))
        start, end = self.controls.visible(len(runs), max(room - for_lines, 1))
        log = [_log_line(line) for line in lines[len(lines) - for_lines :]]
        free = room - max(end - start, 1) - len(log)
        yield self._runs(runs[start:end], width, older=start, newer=len(runs) - end)
        yield from (Text(""), Text("LOG", style=_HEADING), *log)
        yield from (Text("") for _ in range(free))

    def _runs(self, runs: Sequence[Reconciled], width: int, *, older: int, newer: int) -> Table:
        """Return some of the runs; a name gets the room that it needs, as long as some is left for the reasons."""
        hidden = [f"+{older} {'older' if newer else 'more'}"] if older else []
        hidden += [f"+{newer} newer"] if newer else []
        table = _table(expand=True)
        table.add_column("TIME", no_wrap=True)
        heading = f"RECONCILED ({', '.join(hidden)})" if hidden else "RECONCILED"
        table.add_column(heading, no_wrap=True, overflow="ellipsis", max_width=max(width - _BESIDE_NAMES, 16))
        table.add_column("", no_wrap=True)
        table.add_column("TOOK", justify="right", no_wrap=True)
        table.add_column("WHY", no_wrap=True, overflow="ellipsis", ratio=1)
        reasons = why if width >= _ROOMY else why_briefly
        for report in runs:
            run = report.run
            outcome = Text(result(report, self.now), style=_RESULTS.get(run.result, ""))
            table.add_row(time_of(report.at), str(run.object), outcome, duration(run.seconds), reasons(report))
        if not runs:
            nothing = "no run matches" if self.controls.filter else "none yet"
            table.add_row(Text(nothing, style="dim"), "", "", "", "")
        return table

    def _last_line(self) -> Text:
        controls = self.controls
        if controls.is_typing:
            return Text(f"filter: {controls.filter}▏ (enter keeps it, esc clears it)", no_wrap=True)
        keys = f'filter "{controls.filter}", esc clears it' if controls.filter else "j/k scroll, / filters"
        return Text(f"Ctrl-C ends it and leaves nothing behind.  {keys}", style="dim", no_wrap=True)


def _line(left: Text, right: Text) -> Table:
    """Return one line with text at both ends; the left end is truncated if there is no room."""
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(left, right)
    return grid


def _folded(text: str, width: int) -> list[Text]:
    """Return a text that users copy in full, folded only at the width of the terminal."""
    starts = range(0, len(text), max(width, 1))
    return [Text(text[start : start + width], style="bold", no_wrap=True) for start in starts]


def _table(*, expand: bool) -> Table:
    return Table(box=None, expand=expand, padding=(0, 2, 0, 0), pad_edge=False, header_style=_HEADING)


def _overview(counts: Sequence[tuple[str, Count]], dashboard: DashboardState, *, is_wide: bool, rows: int) -> Table:
    """Return kinds and controllers side by side; on a narrow terminal the queues are left out."""
    table = _table(expand=False)
    table.add_column("KIND", no_wrap=True, max_width=24, overflow="ellipsis")
    table.add_column("READY", justify="right", no_wrap=True)
    table.add_column("", width=1)
    table.add_column("CONTROLLER", no_wrap=True, max_width=20, overflow="ellipsis")
    headings = ("RUNS", "FAILED", "QUEUED", "ACTIVE", "WAITING") if is_wide else ("RUNS", "FAILED")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    kinds = _fitting([[kind, Text(str(count), style=_count_style(count))] for kind, count in counts], rows)
    work = _fitting([_work_cells(name, done, len(headings)) for name, done in dashboard.work.items()], rows)
    for number in range(max(len(kinds), len(work), 1)):
        left = kinds[number] if number < len(kinds) else ["", ""]
        table.add_row(*left, "", *(work[number] if number < len(work) else []))
    return table


def _work_cells(name: str, done: Work, columns: int) -> list[RenderableType]:
    numbers = (done.runs, done.failed, done.queue.ready, done.queue.running, done.queue.waiting)
    return [name, *(_number(one, is_bad=place == 1) for place, one in enumerate(numbers[:columns]))]


def _fitting(table: list[list[RenderableType]], rows: int) -> list[list[RenderableType]]:
    """Return as many rows as fit; the last one counts those that do not."""
    if len(table) <= rows:
        return table
    shown = table[: rows - 1]
    return [*shown, [Text(f"+{len(table) - len(shown)} more", style="dim"), *[""] * (len(table[0]) - 1)]]


def _count_style(count: Count) -> str:
    if not count.judged:
        return ""
    return "green" if count.ready == count.total else "yellow"


def _number(value: int, *, is_bad: bool) -> Text:
    return Text(str(value), style="dim" if not value else "red" if is_bad else "")


def _problem(problem: Problem, width: int, most: int) -> list[RenderableType]:
    """Return the last error with the place to look at; a long one is cut off."""
    where = "  ".join(part for part in (problem.place, problem.subject) if part)
    heading = _line(Text.assemble(("LAST ERROR", "bold red"), f"  {where}"), Text(time_of(problem.at), style="dim"))
    lines = wrap(" ".join(problem.text.split()), max(width, 2), max_lines=most, placeholder=" …")
    return [heading, *(Text(line, style="red", no_wrap=True) for line in lines), Text("")]


def _log_line(line: LogLine | Printed) -> Text:
    if isinstance(line, Printed):
        text = Text(f"{time_of(line.at)}  {line.text}")
    else:
        text = Text(f"{time_of(line.at)}  {said(line)}", style=_LEVELS.get(line.level, ""))
    text.no_wrap = True
    text.overflow = "ellipsis"
    return text
