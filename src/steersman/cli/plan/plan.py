"""`steer plan`: what the operator would do to a cluster, without doing it."""

import asyncio
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steersman.cli.parameters import parse_object
from steersman.cli.plan.deployment import Deployment, deployment_of
from steersman.cli.plan.making import Where, planned, print_document, show
from steersman.cli.plan.other_version import hash_key, plan_of_other
from steersman.cli.target import load_operator

if TYPE_CHECKING:
    from steersman.json_types import JsonObject
    from steersman.manager.operator import Operator
    from steersman.planning.document import ReadPlan
    from steersman.planning.plan import Plan
    from steersman.planning.planner import PlanOptions


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
@click.option(
    "--namespace", "-n", "namespaces", metavar="NAME", multiple=True, help="Plan only this namespace; repeatable."
)
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
    from steersman.cli.dev.announcement import dev_kubeconfig
    from steersman.cli.target import project_target
    from steersman.planning.planner import PlanOptions

    operators = [target for target in targets if _is_operator(target)]
    # First, because a module without its operator is not a matter of the project.
    objects = tuple(parse_object(target) for target in targets if not _is_operator(target))
    deployment = Deployment() if operators else deployment_of(Path.cwd())
    operators = operators or [project_target(option="MODULE:OPERATOR")]
    options = PlanOptions(
        namespaces=namespaces or deployment.watch,
        objects=objects,
        selector=selector,
        limit=limit or 0,
        proposed=_proposed(files),
        resume=resume,
        offline=offline,
        notes_side_effects=True,
        hash_key=hash_key(is_shared=against is not None),
    )
    where = Where(kubeconfig or dev_kubeconfig(kubeconfig, context), context, user)
    # First, because its errors are those of a mistyped name.
    arguments = [*where.arguments(), *_arguments(options)]
    proposed = _list_of(options.proposed)
    other = plan_of_other(against, arguments, proposed, namespaces, deployment.watch) if against is not None else None
    with deployment.variables_set():
        with redirect_stdout(sys.stderr):
            loaded = [load_operator(target) for target in operators]
        plan = asyncio.run(_plan(loaded, where, options, deployment.notes, verbose=verbose))
    if against is not None and other is not None:
        sys.exit(_compare(plan, against, other, output))
    show(plan, output)
    sys.exit(plan.exit_code)


def _is_operator(target: str) -> bool:
    """Return whether a target is MODULE:OPERATOR; the name of a ClusterRole may have colons, too."""
    module, colon, _ = target.partition(":")
    if colon and module.endswith(".py"):
        dotted = module.removesuffix(".py").removeprefix("./").replace("/", ".")
        raise click.UsageError(f"{target!r} is a file: pass the module, such as {dotted}:operator")
    return bool(colon) and "/" not in module


async def _plan(
    operators: "list[Operator]", where: Where, options: "PlanOptions", notes: tuple[str, ...], *, verbose: bool
) -> "Plan":
    """Connect and return the plan of operators."""
    from msgspec.structs import replace

    async with where.connect() as (transport, namespace):
        place = options.namespaces[0] if len(options.namespaces) == 1 else namespace
        options = replace(options, proposed_namespace=place)
        return await planned(operators, transport, options, notes=notes, verbose=verbose)


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
            objects = [one.content for one in load_objects(data, source=name)]
        except ValueError as error:  # without kind or apiVersion
            raise click.ClickException(str(error)) from None
        if not objects:
            raise click.ClickException(f"{name}: there are no objects in it")
        found += objects
    return tuple(found)


def _list_of(objects: "tuple[JsonObject, ...]") -> bytes:
    """Return objects as one JSON document."""
    from steersman.objects.codec import encode_json

    return encode_json({"apiVersion": "v1", "kind": "List", "items": list(objects)}) if objects else b""


def _arguments(options: "PlanOptions") -> list[str]:
    """Return the options of the command that choose what is planned, except namespaces."""
    chosen = ["--selector", options.selector] if options.selector else []
    if options.limit:
        chosen += ["--limit", str(options.limit)]
    flags = {"--offline": options.offline, "--resume": options.resume}
    chosen += [flag for flag, is_set in flags.items() if is_set]
    if options.proposed:
        chosen += ["--filename", "-"]
    return [*chosen, *(f"{kind}/{name}" for kind, name in options.objects)]


def _compare(plan: "Plan", against: str, other: "ReadPlan", output: str) -> int:
    """Print what two versions do differently; return the exit code."""
    from steersman.planning.comparison import compare_plans, comparison_document, comparison_text

    found = compare_plans(plan, other)
    if output == "text":
        click.echo(comparison_text(found, against))
    else:
        print_document(comparison_document(found, against), output)
    return found.exit_code
