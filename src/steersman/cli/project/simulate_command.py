"""`steer simulate --command`: the same for an operator that is any program."""

import functools
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from steersman.simulation.binaries.command_report import CommandReport
    from steersman.simulation.binaries.command_simulator import Choice
    from steersman.testing.crashes.scenarios import Scenario

#: Options that only make sense for an operator in this process.
_OTHERS = {
    "target": "--operator",
    "pairs": "--pairs",
    "walks": "--walks",
    "budget": "--budget",
    "generate": "--generate",
    "twice": "--twice",
    "save_test": "--save-test",
}
#: Options that only make sense for a program.
_OURS = ("crds", "also_serve", "scenario_path", "quiet", "patience", "only", "most", "logs")


def command_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options for programs to `steer simulate`; with ``--command`` the decorated function is not called."""

    @functools.wraps(function)
    def wrapped(*, command_line: str | None, **given: Any) -> None:
        ours = {name: given.pop(name) for name in _OURS}
        if command_line is not None:
            _reject(_OTHERS, "needs an operator in this process, and cannot be combined with --command")
            _simulate(command_line, ours, given)
            return
        _reject({name: f"--{name.partition('_')[0]}" for name in _OURS}, "is only for programs: pass --command too")
        function(**given)

    options = [
        click.option("--command", "command_line", metavar="COMMAND", help="Simulate this program, in real time."),
        click.option("--scenario", "scenario_path", metavar="PATH", help="Folder of manifests, or FILE.py:FUNCTION."),
        click.option(
            "--crds", multiple=True, type=click.Path(path_type=Path, exists=True), help="CRDs that the program needs."
        ),
        click.option(
            "--also-serve", multiple=True, metavar="OLD=NEW", help="Version to serve: policy/v1beta1=policy/v1."
        ),
        click.option("--quiet", default=3.0, metavar="SECONDS", show_default=True, help="Idle time before comparing."),
        click.option(
            "--patience", default=120.0, metavar="SECONDS", show_default=True, help="Limit for becoming idle."
        ),
        click.option("--only", default="", metavar="RESOURCES", help="Only steps of these: pods,services."),
        click.option("--most", type=int, metavar="N", help="Run at most N plans, spread evenly."),
        click.option("--logs", type=click.Path(path_type=Path), help="Folder for the logs of the program."),
    ]
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def _reject(names: dict[str, str], why: str) -> None:
    context = click.get_current_context()
    for name, shown in names.items():
        if context.get_parameter_source(name) not in {None, ParameterSource.DEFAULT}:
            raise click.UsageError(f"{shown} {why}")


def _simulate(command_line: str, ours: dict[str, Any], given: dict[str, Any]) -> None:
    from steersman.simulation.binaries.command_run import CommandSetup
    from steersman.simulation.binaries.command_simulator import simulate_command
    from steersman.simulation.binaries.definitions import read_definitions
    from steersman.simulation.binaries.old_versions import parse_old_versions
    from steersman.simulation.binaries.program import Program

    program = Program.parse(command_line)
    scenario = _scenario(ours["scenario_path"] or given["scenario"])
    with _logs(ours["logs"]) as directory:
        setup = CommandSetup(
            program=program,
            scenario=scenario,
            definitions=read_definitions(ours["crds"]),
            old_versions=parse_old_versions(ours["also_serve"]),
            quiet=ours["quiet"],
            patience=ours["patience"],
            directory=Path(directory),
        )
        click.echo(f"{scenario.__name__}: running it twice without any fault", err=True)
        report = simulate_command(setup, _choice(ours, given), on_progress=_show_progress)
    _show(report, given)


def _choice(ours: dict[str, Any], given: dict[str, Any]) -> "Choice":
    from steersman.simulation.binaries.command_simulator import Choice

    is_default = click.get_current_context().get_parameter_source("faults") is ParameterSource.DEFAULT
    return Choice(
        faults=("usual",) if is_default else given["faults"].split(","),
        plans=given["plans"],
        only=frozenset(filter(None, ours["only"].split(","))),
        most=ours["most"],
        stop_after=given["stop_after"],
        parallel=2 * (os.cpu_count() or 1) if given["jobs"] is None else given["jobs"],
    )


def _logs(folder: Path | None) -> AbstractContextManager[str]:
    if folder is None:
        return tempfile.TemporaryDirectory(prefix="steersman-logs-")
    folder.mkdir(parents=True, exist_ok=True)
    return nullcontext(str(folder))


def _show_progress(report: "CommandReport", plans: int) -> None:
    done = len(report.tried)
    left = f", about {(plans - done) * report.seconds / done:.0f} s left" if done and done < plans else ""
    line = f"{done}/{plans} plans, {len(report.failures)} failed, {report.seconds:.0f} s{left}"
    click.echo(f"\r\x1b[K{line}" if sys.stderr.isatty() else line, nl=not sys.stderr.isatty(), err=True)


def _show(report: "CommandReport", given: dict[str, Any]) -> None:
    from steersman.simulation.reports.html_report import html_report

    if sys.stderr.isatty():
        click.echo("", err=True)
    click.echo(report.text())
    click.echo(f"\n{report.table()}")
    if given["json_file"] is not None:
        given["json_file"].write_bytes(report.json() + b"\n")
    if given["html_file"] is not None:
        given["html_file"].write_text(html_report(report), encoding="utf-8")
    if report.is_interrupted:
        raise click.Abort
    if report.failures:
        sys.exit(1)


def _scenario(text: str | None) -> "Scenario":
    """Return the scenario of a folder of manifests, of a file with Python, or of a module."""
    from steersman.simulation.binaries.scenario_files import scenario_of

    if text is None:
        raise click.UsageError("--command needs --scenario: a folder of YAML steps, or FILE.py:FUNCTION")
    if Path(text).is_dir():
        return scenario_of(Path(text))
    place, colon, name = text.rpartition(":")
    if not colon:
        raise click.BadParameter(f"{text!r} is neither a folder nor FILE.py:FUNCTION", param_hint="--scenario")
    function = getattr(_module(place), name, None)
    if not callable(function):
        raise click.BadParameter(f"there is no function {name!r} in {place}", param_hint="--scenario")
    found: Scenario = function
    return found


def _module(place: str) -> ModuleType:
    path = Path(place)
    if path.suffix != ".py":
        try:
            return import_module(place)
        except ModuleNotFoundError as error:
            raise click.BadParameter(f"cannot import {place!r}: {error}", param_hint="--scenario") from error
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise click.BadParameter(f"there is no file {place}", param_hint="--scenario")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
