"""`steer plan`: what the operator would do to a cluster, without doing it."""

import asyncio
import sys
from collections.abc import Awaitable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steersman.cli.parameters import parse_object
from steersman.cli.plan.other_version import hash_key, plan_of_other
from steersman.cli.target import load_operator

if TYPE_CHECKING:
    from steersman.json_types import JsonObject
    from steersman.manager.operator import Operator
    from steersman.planning.plan import Plan, PlannedObject
    from steersman.planning.planner import PlanOptions

#: Objects between two lines of progress where the output is not a terminal.
_OBJECTS_PER_LINE = 1000


class _PlanCommand(click.Command):
    """A command whose exit code 2 means changes: wrong usage is 1, like any failure."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> click.Context:
        """Parse the arguments."""
        try:
            return super().make_context(info_name, args, *more, **extra)
        except click.UsageError as error:
            raise click.ClickException(error.format_message()) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from steersman.errors import ConnectionFailed, SteersmanError

        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise click.ClickException(error.format_message()) from error
        except ConnectionFailed:
            raise  # `steer` adds advice; its exit code is 1
        except SteersmanError as error:
            raise click.ClickException(str(error)) from error


@click.command("plan", cls=_PlanCommand, short_help="Show what the operator would do to a cluster, without doing it.")
@click.argument("targets", metavar="[MODULE:OPERATOR] [KIND/NAME]...", nargs=-1)
@click.option("--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), help="Kubeconfig file.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig.")
@click.option("--as", "user", metavar="USER", help="Plan with the permissions of this user or service account.")
@click.option("--namespace", "-n", "namespaces", metavar="NAME", multiple=True, help="Plan only this namespace.")
@click.option("--selector", "-l", metavar="LABELS", default="", help="Plan only objects with these labels.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=None, help="Plan at most N objects of each kind."
)
@click.option("--output", "-o", type=click.Choice(["text", "json", "yaml"]), default="text", help="Default: text.")
@click.option(
    "--filename", "-f", "files", metavar="FILE", multiple=True, help="Plan as if this were applied; - reads from stdin."
)
@click.option("--resume", is_flag=True, help="Plan paused objects as if they were resumed.")
@click.option("--against", metavar="FOLDER|IMAGE", help="Project or image to compare with.")
@click.option("--offline", is_flag=True, help="Send no dry runs: only read from the cluster.")
@click.option("--verbose", "-v", is_flag=True, help="Show the operator's log.")
def command(  # noqa: PLR0913 - the options of the command, each by its name
    targets: tuple[str, ...],
    *,
    kubeconfig: Path | None,
    context: str | None,
    user: str | None,
    namespaces: tuple[str, ...],
    selector: str,
    limit: int | None,
    output: str,
    files: tuple[str, ...],
    resume: bool,
    against: str | None,
    offline: bool,
    verbose: bool,
) -> None:
    """Run every reconciler against a copy of the cluster's objects, and show what it changes.

    Writes are sent as dry runs, so that defaults, admission and your permissions are those of the cluster; nothing is
    stored. Requests to other systems are listed instead of sent, except GET. With --against, the operator of another
    folder or image is planned too, and only the differences are shown, such as those between two versions.

    Exit codes: 0 nothing to do, 2 changes, 1 failure.

    \b
    Examples:
      $ steer plan --context staging
      $ steer plan custompod/a -n shop
      $ steer plan -l tier=web -o json
      $ steer plan -f larger.yaml
      $ steer plan --against ../custompod-1.4
      $ steer plan --against registry.example.com/custompod:1.4
      $ steer plan --as system:serviceaccount:custompod-system:custompod
    """
    from steersman.cli.target import project_target
    from steersman.manager.process.logs import quiet_logs
    from steersman.planning.planner import PlanOptions

    operators = [target for target in targets if ":" in target] or [project_target(option="MODULE:OPERATOR")]
    options = PlanOptions(
        namespaces=namespaces,
        objects=tuple(parse_object(target) for target in targets if ":" not in target),
        selector=selector,
        limit=limit or 0,
        proposed=_proposed(files),
        resume=resume,
        offline=offline,
        notes_side_effects=True,
        hash_key=hash_key(is_shared=against is not None),
    )
    where = Where(kubeconfig, context, user)
    # First, because its errors are those of a mistyped name.
    arguments = [*where.arguments(), *_arguments(options)]
    others = plan_of_other(against, arguments, _list_of(options.proposed)) if against is not None else ()
    with nullcontext() if verbose else quiet_logs():
        plan = run(where.plan([load_operator(target) for target in operators], options))
    if against is not None:
        sys.exit(_compare(plan, against, others, output))
    show(plan, output)
    sys.exit(plan.exit_code)


def _proposed(files: tuple[str, ...]) -> "tuple[JsonObject, ...]":
    """Read the objects that a person proposes to apply."""
    from steersman.protocol.manifests import load_objects

    found: list[JsonObject] = []
    for name in files:
        try:
            data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            raise click.ClickException(f"{name}: {error.strerror}") from None
        try:
            found += [one.content for one in load_objects(data, source=name)]
        except ValueError as error:  # without kind or apiVersion
            raise click.ClickException(str(error)) from None
    return tuple(found)


def _list_of(objects: "tuple[JsonObject, ...]") -> bytes:
    """Return objects as one JSON document."""
    from steersman.objects.codec import encode_json

    return encode_json({"apiVersion": "v1", "kind": "List", "items": list(objects)}) if objects else b""


@dataclass(frozen=True, slots=True)
class Where:
    """The cluster that is planned."""

    kubeconfig: Path | None
    context: str | None
    user: str | None = None

    def arguments(self) -> list[str]:
        """Return the options of the command that name this cluster."""
        file = self.kubeconfig and self.kubeconfig.absolute()
        named = {"--kubeconfig": file, "--context": self.context, "--as": self.user}
        return [text for option, value in named.items() if value for text in (option, str(value))]

    async def plan(self, operators: "list[Operator]", options: "PlanOptions") -> "Plan":
        """Connect and make a plan, with a line of progress on the terminal."""
        from msgspec.structs import replace

        from steersman.clock import RealClock
        from steersman.planning.planner import make_plan
        from steersman.transport.auth.credentials import Impersonation
        from steersman.transport.config import ClusterConfig
        from steersman.transport.http.transport import HttpTransport

        clock = RealClock()
        config = ClusterConfig.load(self.kubeconfig, context=self.context)
        if self.user:
            config = replace(config, impersonation=Impersonation(user=self.user))
        options = replace(options, proposed_namespace=config.namespace)
        transport = HttpTransport(config, clock=clock)
        progress = _Progress()
        try:
            return await make_plan(operators, transport, options, clock=clock, on_progress=progress.show)
        finally:
            progress.end()
            await transport.close()


def _arguments(options: "PlanOptions") -> list[str]:
    """Return the options of the command that choose what is planned."""
    chosen = [text for name in options.namespaces for text in ("--namespace", name)]
    if options.selector:
        chosen += ["--selector", options.selector]
    if options.limit:
        chosen += ["--limit", str(options.limit)]
    flags = {"--offline": options.offline, "--resume": options.resume}
    chosen += [flag for flag, is_set in flags.items() if is_set]
    if options.proposed:
        chosen += ["--filename", "-"]
    return [*chosen, *(f"{kind}/{name}" for kind, name in options.objects)]


def run(work: "Awaitable[Plan]") -> "Plan":
    """Run the asynchronous part of a plan."""

    async def main() -> "Plan":
        return await work

    return asyncio.run(main())


def show(plan: "Plan", output: str = "text") -> None:
    """Print a plan."""
    from steersman.planning.document import plan_document
    from steersman.planning.text import plan_text

    if output == "text":
        click.echo(plan_text(plan, lambda text, colour: click.style(text, fg=colour)))
    else:
        _print(plan_document(plan), output)


def _print(document: "JsonObject", output: str) -> None:
    if output == "json":
        import json

        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        from steersman.golang.yaml_writer import write_yaml

        click.echo(write_yaml([document]), nl=False)


class _Progress:
    """A line that counts planned objects: rewritten on a terminal, otherwise printed now and then."""

    def __init__(self) -> None:
        self._shown = 0
        self._is_terminal = sys.stderr.isatty()

    def show(self, done: int, known: int) -> None:
        """Show the number of objects that were planned."""
        if done == self._shown or (not self._is_terminal and done - self._shown < _OBJECTS_PER_LINE):
            return
        self._shown = done
        line = f"planned {done:,} of {known:,} objects"
        click.echo(f"\r\x1b[K{line}" if self._is_terminal else line, nl=not self._is_terminal, err=True)

    def end(self) -> None:
        """Remove the line."""
        if self._is_terminal and self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)


def _compare(plan: "Plan", against: str, others: "tuple[PlannedObject, ...]", output: str) -> int:
    """Print what two versions do differently; return the exit code."""
    from steersman.planning.comparison import compare, comparison_text
    from steersman.planning.plan import of_definitions

    differences = compare([*plan.objects, *of_definitions(plan.changes)], others)
    if output == "text":
        click.echo(comparison_text(differences, against))
    else:
        found = [
            {"object": one.object._asdict(), "onlyHere": list(one.only_here), "onlyThere": list(one.only_there)}
            for one in differences
        ]
        _print({"against": against, "differences": found}, output)
    if plan.failures:
        return 1
    return 2 if differences else 0
