"""`steer simulate`: every fault at every step of a scenario."""

import os
import subprocess
import sys
from contextlib import contextmanager
from inspect import iscoroutinefunction, isfunction, signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import click

from steersman.cli.parameters import COUNT, POSITIVE, SECONDS
from steersman.cli.project.simulate_command import command_options
from steersman.cli.target import SCENARIO, load_target, project_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.simulation.invariants import Invariant
    from steersman.simulation.operations.report import OperationsReport
    from steersman.simulation.reports.report import Report
    from steersman.simulation.runs.instances import OperatorSource
    from steersman.testing.crashes.scenarios import Scenario

#: How many plans pass between two lines of progress where the output is not a terminal.
_PLANS_PER_LINE = 100


@click.command("simulate", short_help="Run a scenario under every fault at every step.")
@click.argument("scenario", metavar="[MODULE:SCENARIO]", required=False)
@click.option(
    "--operator",
    "target",
    metavar="MODULE:OPERATOR",
    help="Operator, or a function that creates one.",
)
@click.option(
    "--faults",
    default="all",
    metavar="KINDS",
    show_default=True,
    help="Kinds of faults; names or F-numbers.",
)
@click.option("--plan", "plans", multiple=True, metavar="PLAN", help="Run only this plan: crash-after@write:3.")
@click.option("--pairs", type=COUNT, metavar="N", default=0, help="Run N pairs of faults as well.")
@click.option("--walks", type=COUNT, metavar="N", default=0, help="Run N random groups of faults as well.")
@click.option("--budget", type=SECONDS, metavar="SECONDS", help="Start no further plan after that time.")
@click.option("--generate", type=POSITIVE, metavar="N", help="Run N generated sequences of each kind.")
@click.option("--seed", default=1, metavar="N", show_default=True, help="Seed of every run.")
@click.option("--twice/--once", default=None, help="Compare two runs of each plan; default in CI.")
@click.option("--jobs", type=POSITIVE, metavar="N", help="Plans at the same time; default: the cores.")
@click.option("--stop-after", type=POSITIVE, metavar="N", help="End after N failures.")
@click.option("--save-test", type=click.Path(path_type=Path), help="Write the first failure as a test.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the report as JSON.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write the report as an HTML page.")
@command_options
def command(  # noqa: PLR0913 - the options of the command
    *,
    scenario: str | None,
    target: str | None,
    faults: str,
    plans: tuple[str, ...],
    pairs: int,
    walks: int,
    budget: float | None,
    generate: int | None,
    seed: int,
    twice: bool | None,
    jobs: int | None,
    stop_after: int | None,
    save_test: Path | None,
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    """Run a scenario with every fault at every step, and compare the end states.

    A scenario is an async function that takes the test cluster; --generate derives scenarios from the schemas.
    --command runs any program with {kubeconfig} and {port} in its arguments.

    \b
    Examples:
      $ steer simulate tests.scenarios:rollout --save-test tests/test_found.py
      $ steer simulate --command './manager {kubeconfig}' --scenario steps
    """
    _check_files(save_test, json_file, html_file)
    from steersman.simulation.reports.html_report import html_report
    from steersman.simulation.runs.workers import available_cores
    from steersman.simulation.simulator import simulate

    if generate is not None:
        _simulate_operations(_operator(target or project_target()), generate, seed, save_test, json_file)
        return
    if scenario is None:
        raise click.UsageError("no scenario given: pass MODULE:SCENARIO, or --generate N for generated operations")
    found = _scenario(scenario)
    operator = _operator(target or _default_target(found))
    click.echo(f"{scenario} with operator {operator.target}", err=True)
    with _failure_of_scenario():
        report = simulate(
            operator.source,
            found.function,
            faults=faults.split(","),
            plans=plans,
            with_pairs=pairs,
            with_walks=walks,
            budget=budget,
            invariants=list(found.invariants.values()),
            seed=seed,
            twice=_runs_twice() if twice is None else twice,
            stop_after=stop_after,
            jobs=jobs or available_cores(),
            on_progress=_show_progress,
        )
    _end_progress()
    click.echo(report.text())
    click.echo(f"\n{report.table()}")
    if json_file is not None:
        json_file.write_bytes(report.json() + b"\n")
    if html_file is not None:
        html_file.write_text(html_report(report), encoding="utf-8")
    if report.failures and save_test is not None:
        _save_test(report, operator.target, found, save_test)
    if report.is_interrupted:
        raise click.Abort
    if report.failures or not report.passed:
        sys.exit(1)


def _check_files(save_test: Path | None, *reports: Path | None) -> None:
    """Reject files that cannot be written, before minutes are spent on what they are for."""
    for file in filter(None, (save_test, *reports)):
        if not file.parent.is_dir():
            raise click.UsageError(f"{file}: the folder {file.parent} does not exist; create it first")
    if save_test is not None and save_test.exists():
        raise click.UsageError(f"{save_test} exists: choose another file")


def _runs_twice() -> bool:
    """Return whether every plan runs twice: in CI, where a result must not depend on luck."""
    is_in_ci = bool(os.environ.get("CI"))
    if is_in_ci:
        click.echo("every plan runs twice, and traces are compared, because CI is set (--once runs it once)", err=True)
    return is_in_ci


@contextmanager
def _failure_of_scenario() -> "Iterator[None]":
    """Report a scenario that fails without any fault as an error of its author, not of `steer`."""
    try:
        yield
    except AssertionError as error:
        raise click.ClickException(str(error)) from error


def _simulate_operations(
    operator: "_Named", count: int, seed: int, save_test: Path | None, json_file: Path | None
) -> None:
    """Run generated operations, and print what they led to."""
    from steersman.simulation.operations.simulator import simulate_operations
    from steersman.simulation.saved_test import saved_operations

    report = simulate_operations(operator.source, count=count, seed=seed, on_progress=_show_operations)
    _end_progress()
    click.echo(report.text())
    click.echo(f"\n{report.table()}")
    if json_file is not None:
        json_file.write_bytes(report.json() + b"\n")
    if report.failures and save_test is not None:
        failure = report.failures[0]
        text = saved_operations(operator.target, failure.sequence, [finding.text for finding in failure.findings])
        _write_test(text, save_test)
    if report.is_interrupted:
        raise click.Abort
    if report.failures or not report.passed:
        sys.exit(1)


def _show_operations(report: "OperationsReport", sequences: int) -> None:
    done = len(report.tried)
    line = f"{done}/{sequences} sequences, {len(report.failures)} failed, {report.seconds:.0f} s"
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{line}", nl=False, err=True)
    elif done % _PLANS_PER_LINE == 0 or done == sequences:
        click.echo(line, err=True)


class _Found(NamedTuple):
    """A scenario, its module, and the invariants of that."""

    module: ModuleType
    name: str
    function: "Scenario"
    invariants: "dict[str, Invariant]"


class _Named(NamedTuple):
    """An operator and the name by which it is imported."""

    target: str
    source: "OperatorSource"


def _operator(target: str) -> _Named:
    """Find an operator, or a function that creates one."""
    from steersman.manager.operator import Operator

    found = load_target(target)
    if isinstance(found, Operator):
        return _Named(target, target)
    if isfunction(found) and not signature(found).parameters and isinstance(found(), Operator):
        return _Named(target, found)
    raise click.BadParameter(
        f"{target} is neither an Operator nor a function without arguments that returns one",
        param_hint="MODULE:OPERATOR",
    )


def _default_target(scenario: _Found) -> str:
    """Return the operator of the project in this folder; outside of one, that of the scenario's module."""
    from steersman.manager.operator import Operator

    try:
        return project_target()
    except click.UsageError:
        names = [name for name, value in vars(scenario.module).items() if isinstance(value, Operator)]
    if len(names) != 1:
        count = "no operator" if not names else f"{len(names)} operators ({', '.join(names)})"
        raise click.UsageError(
            f"no operator given: there is no project in this folder, and {scenario.module.__name__} has {count}; pass "
            "--operator MODULE:OPERATOR, or --operator MODULE:FUNCTION that creates one"
        )
    return f"{scenario.module.__name__}:{names[0]}"


def _scenario(text: str) -> _Found:
    """Find a scenario, and the invariants of its module."""
    from steersman.simulation.invariants import Invariant

    module_name, colon, name = text.partition(":")
    if not colon or not module_name or not name:
        raise click.UsageError(f"{text!r} is not MODULE:SCENARIO, such as tests.scenarios:rollout")
    found = load_target(text, "MODULE:SCENARIO")
    if not iscoroutinefunction(found) or not signature(found).parameters:
        raise click.BadParameter(
            f"{text} is not a scenario: pass an async function that takes the cluster", param_hint=SCENARIO
        )
    module_name, _, name = text.partition(":")
    module = sys.modules[module_name]
    invariants = {name: value for name, value in vars(module).items() if isinstance(value, Invariant)}
    return _Found(module, name, found, invariants)


def _show_progress(report: "Report", plans: int) -> None:
    done = len(report.tried)
    rate = report.plans_per_second
    left = f"{(plans - done) / rate:.0f} s left" if rate else ""
    missed = f", {len(report.missed)} not reached" if report.missed else ""
    line = f"{done}/{plans} plans, {len(report.failures)} failed{missed}, {rate:.0f} a second, {left}"
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{line}", nl=False, err=True)
    elif done % _PLANS_PER_LINE == 0 or done == plans:
        click.echo(line, err=True)


def _end_progress() -> None:
    if sys.stderr.isatty():
        click.echo("", err=True)


def _save_test(report: "Report", operator: str, scenario: _Found, file: Path) -> None:
    from steersman.simulation.saved_test import SavedTest

    failure = report.failures[0]
    test = SavedTest(
        operator=operator,
        scenario=f"{scenario.module.__name__}:{scenario.name}",
        plan=str(failure.plan),
        seed=report.seed,
        findings=tuple(finding.text for finding in failure.findings),
        invariants=tuple(scenario.invariants),
    )
    _write_test(test.source, file)


def _write_test(source: "Callable[[str], str]", file: Path) -> None:
    """Write a test that pytest can import."""
    file.write_text(source(""), encoding="utf-8")
    if not _can_be_collected(file):
        # The modules were found in this folder, which pytest does not search by itself.
        file.write_text(source(os.path.relpath(Path.cwd(), file.resolve().parent)), encoding="utf-8")
    click.echo(f"wrote {file}")


def _can_be_collected(file: Path) -> bool:
    """Return whether pytest can import a test."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(file)]
    # `python -m` puts this folder on the path, the command `pytest` does not.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    return subprocess.run(command, capture_output=True, check=False, env=environment).returncode == 0  # noqa: S603 - our own Python
