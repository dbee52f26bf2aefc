"""`steer replay FILE --against MODULE:OPERATOR`: run recorded reconciles with other code, and list what differs."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from steersman.history.recordings import Recording
    from steersman.manager.operator import Operator

#: Exit code if a reconcile sends something else.
_DIFFERENT = 2


@click.command("replay", short_help="Run recorded reconciles with other code; list what differs.")
@click.argument(
    "files", metavar="FILE…", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--against", "target", metavar="MODULE:OPERATOR", help="Operator to run; default: the project's.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(files: tuple[Path, ...], *, target: str | None, as_json: bool) -> None:
    """Run recorded reconciles with the code in this folder, and list the requests that differ.

    FILE is an export of `steer why --export`. Each reconcile runs on the objects that it read, in an API server in this
    process: no cluster is needed, and nothing is written anywhere.

    Exit codes: 0 all the same, 2 differences, 1 a reconcile could not be run.

    \b
    Examples:
      $ steer why custompod/a --export a.json
      $ steer replay a.json --against custompod.main:operator
    """
    from steersman.cli.target import load_operator, project_target
    from steersman.errors import SteersmanError
    from steersman.history.recordings import load_recordings

    try:
        recordings = [one for file in files for one in load_recordings(file.read_bytes(), source=str(file))]
        operator = load_operator(target or project_target(option="--against MODULE:OPERATOR"))
    except (SteersmanError, click.UsageError) as error:
        message = error.format_message() if isinstance(error, click.UsageError) else str(error)
        raise click.ClickException(message) from None
    if not recordings:
        raise click.ClickException(f"{', '.join(map(str, files))}: no recorded reconciles found")
    results = asyncio.run(_replay_all(operator, recordings))
    if as_json:
        _print_json(results)
    else:
        _print(results)
    if any(problem for _, _, problem in results):
        sys.exit(1)
    if any(differences for _, differences, _ in results):
        sys.exit(_DIFFERENT)


async def _replay_all(
    operator: "Operator", recordings: "list[Recording]"
) -> "list[tuple[Recording, tuple[str, ...], str]]":
    """Return each recording with what differs, and why it could not be run."""
    from steersman.errors import SteersmanError
    from steersman.testing import replay_reconcile

    results: list[tuple[Recording, tuple[str, ...], str]] = []
    for recording in recordings:
        try:
            replay = await replay_reconcile(operator, recording)
        except SteersmanError as error:
            results.append((recording, (), str(error)))
        else:
            results.append((recording, replay.differences, ""))
    return results


def _print(results: "list[tuple[Recording, tuple[str, ...], str]]") -> None:
    from steersman.history.printable import printable

    for recording, differences, problem in results:
        if problem:
            click.echo(printable(f"{recording.title}: not run: {problem}"))
            continue
        click.echo(printable(f"{recording.title}: {_counted(differences)}"))
        for line in differences:
            click.echo(printable(f"  {line}"))
    same = sum(not differences and not problem for _, differences, problem in results)
    failed = sum(bool(problem) for _, _, problem in results)
    click.echo(
        f"{len(results)} {'reconcile' if len(results) == 1 else 'reconciles'}: {same} the same, "
        f"{len(results) - same - failed} different{f', {failed} not run' if failed else ''}"
    )


def _counted(differences: tuple[str, ...]) -> str:
    if not differences:
        return "the same"
    return f"{len(differences)} {'difference' if len(differences) == 1 else 'differences'}"


def _print_json(results: "list[tuple[Recording, tuple[str, ...], str]]") -> None:
    import msgspec

    from steersman.history.printable import printable_json

    shown = [
        {"object": recording.object, "reconcile": recording.number, "differences": differences, "problem": problem}
        for recording, differences, problem in results
    ]
    click.echo(printable_json(msgspec.json.format(msgspec.json.encode(shown)).decode()))
