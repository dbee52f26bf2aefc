"""`steer simulate`: every fault at every step of a scenario."""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.target import operator_option

if TYPE_CHECKING:
    from steersman.simulation.invariants import Invariant
    from steersman.simulation.report import Report
    from steersman.testing.crashes.scenarios import Scenario

#: How many plans pass between two lines of progress where the output is not a terminal.
_PLANS_PER_LINE = 100


@click.command("simulate", short_help="Run a scenario under every fault at every step.")
@click.argument("scenario", metavar="MODULE:SCENARIO")
@operator_option
@click.option(
    "--faults",
    default="all",
    metavar="KINDS",
    show_default=True,
    help="Kinds of faults: names or F-numbers, with commas.",
)
@click.option("--plan", "plans", multiple=True, metavar="PLAN", help="Run only this plan, such as crash-after@write:3.")
@click.option("--pairs", default=0, metavar="N", help="Run N pairs of faults as well.")
@click.option("--seed", default=1, metavar="N", show_default=True, help="Seed of every run.")
@click.option("--twice", is_flag=True, help="Run every plan twice and compare their traces.")
@click.option("--stop-after", type=int, metavar="N", help="End after N failures.")
@click.option("--save-test", type=click.Path(path_type=Path), help="Write the first failure as a pytest to this file.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the report as JSON to this file.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write the report as a page to this file.")
def command(  # noqa: PLR0913 - the options of the command
    *,
    scenario: str,
    target: str | None,
    faults: str,
    plans: tuple[str, ...],
    pairs: int,
    seed: int,
    twice: bool,
    stop_after: int | None,
    save_test: Path | None,
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    """Run a scenario once for every fault at every step, and compare each end with the undisturbed one.

    A scenario is an async function that takes the cluster of a test: what users do, and what they wait for. Invariants
    that its module declares with @always are checked after every write. Ctrl-C prints what is known so far.

    \b
    Example:
      $ steer simulate tests.scenarios:rollout
      $ steer simulate tests.scenarios:rollout --save-test tests/test_found.py
    """
    from steersman.cli.target import load_operator, project_target
    from steersman.simulation.html_report import html_report
    from steersman.simulation.simulator import simulate

    operator = target or project_target()
    load_operator(operator)
    function, invariants = _scenario(scenario)
    report = simulate(
        operator,
        function,
        faults=faults.split(","),
        plans=plans,
        with_pairs=pairs,
        invariants=invariants,
        seed=seed,
        twice=twice,
        stop_after=stop_after,
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
        _save_test(report, operator, scenario, save_test)
    if report.is_interrupted:
        raise click.Abort
    if report.failures:
        sys.exit(1)


def _scenario(text: str) -> "tuple[Scenario, list[Invariant]]":
    """Find a scenario, and the invariants of its module."""
    from steersman.simulation.invariants import Invariant

    module_name, colon, name = text.partition(":")
    if not colon or not module_name or not name:
        raise click.UsageError(f"{text!r} is not MODULE:SCENARIO, such as tests.scenarios:rollout")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise click.UsageError(f"cannot import {module_name!r}: {error}") from error
    found = getattr(module, name, None)
    if not callable(found):
        raise click.UsageError(
            f"the module {module_name} has no function {name!r}: a scenario is an async function that takes the cluster"
        )
    return found, [value for value in vars(module).values() if isinstance(value, Invariant)]


def _show_progress(report: "Report", plans: int) -> None:
    done = len(report.tried)
    rate = report.plans_per_second
    left = f"{(plans - done) / rate:.0f} s left" if rate else ""
    line = f"{done}/{plans} plans, {len(report.failures)} failed, {rate:.0f} a second, {left}"
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{line}", nl=False, err=True)
    elif done % _PLANS_PER_LINE == 0 or done == plans:
        click.echo(line, err=True)


def _end_progress() -> None:
    if sys.stderr.isatty():
        click.echo("", err=True)


def _save_test(report: "Report", operator: str, scenario: str, file: Path) -> None:
    from steersman.simulation.saved_test import saved_test

    failure = report.failures[0]
    source = saved_test(
        operator=operator,
        scenario=scenario,
        plan=str(failure.plan),
        seed=report.seed,
        findings=[finding.text for finding in failure.findings],
    )
    file.write_text(source, encoding="utf-8")
    click.echo(f"wrote {file}")
