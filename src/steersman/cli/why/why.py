"""`steer why KIND/NAME`: why an object is as it is, and what the operator does about it next."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from steersman.cli.parameters import parse_object
from steersman.cli.why.saving import Saving
from steersman.history.printable import printable, printable_json

if TYPE_CHECKING:
    from steersman.cli.why.operators import NoOperatorAnswer, RunningOperator
    from steersman.history.records import ObjectView
    from steersman.history.state import ObjectSummary, Overview

_NEW_FILE = click.Path(dir_okay=False, path_type=Path)
#: Returns the operators that can be asked; raises ``ClickException`` if there is none.
FindOperators: TypeAlias = Callable[[], Awaitable[list["RunningOperator"]]]

#: Seconds between two looks with ``--follow``.
_LOOK_AGAIN = 0.5
#: Objects of a list that are shown.
_SHOWN = 20


@click.command("why", short_help="Explain what a running operator does about an object, and why.")
@click.argument("target", metavar="[KIND/NAME]", required=False)
@click.option("--namespace", "-n", metavar="NAME", default="default", help="Namespace of the object; default: default.")
@click.option("--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), help="Ask an operator in this cluster.")
@click.option("--context", metavar="NAME", help="Ask an operator in the cluster of this context.")
@click.option("--cluster", metavar="NAME", help="Of an operator in several clusters: ask about this one.")
@click.option("--operator-namespace", metavar="NAME", help="Namespace of the operator's pods; default: all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--follow", "-f", is_flag=True, help="Keep printing new reconciles, until Ctrl-C.")
@click.option("--save-test", type=_NEW_FILE, help="Write a recorded reconcile as a pytest.")
@click.option("--export", type=_NEW_FILE, help="Write the recorded reconciles for `steer replay`.")
@click.option("--reconcile", "number", type=int, metavar="N", help="Number of the reconcile to write.")
@click.option("--operator", metavar="MODULE:OPERATOR", help="Operator of the test; default: the one that ran.")
def command(  # noqa: PLR0913 - the options of the command, each by its name
    target: str | None,
    *,
    namespace: str,
    kubeconfig: Path | None,
    context: str | None,
    cluster: str | None,
    operator_namespace: str | None,
    as_json: bool,
    follow: bool,
    save_test: Path | None,
    export: Path | None,
    number: int | None,
    operator: str | None,
) -> None:
    """Explain what a running operator does about an object, and why.

    The first line says whether the object is ready and why not, the second when it is reconciled next; then follow its
    last reconciles with their causes, reads and writes. Without an object: the state of the operator, and the objects
    that fail, wait or trigger themselves.

    The operator is one on this machine (`steer dev`, `steer run`), or with --context or --kubeconfig one that was
    deployed: it is reached by a port-forward to its pod, with your own permissions.

    --save-test and --export need an operator that records what reconciles read: `steer dev` does, and `steer run` does
    with --record. A test runs the reconcile of --reconcile, or the last one that failed or changed something. The
    contents of Secrets are replaced.

    \b
    Examples:
      $ steer why custompod/a
      $ steer why custompod/a -n shop --follow
      $ steer why custompod/a --save-test tests/test_found.py
      $ steer why --context my-cluster
    """
    where = _Where(kubeconfig, context, operator_namespace, cluster)
    resource, name = parse_object(target) if target is not None else ("", "")
    if follow and (not name or as_json):
        raise click.UsageError("--follow needs KIND/NAME, and cannot be combined with --json")
    saving = Saving(export=export, test=save_test, number=number, operator=operator)
    if saving.is_asked and (not name or as_json or follow):
        raise click.UsageError(
            "--save-test and --export need KIND/NAME, and cannot be combined with --json or --follow"
        )
    if (number is not None or operator is not None) and not saving.is_asked:
        raise click.UsageError("--reconcile and --operator need --save-test or --export")
    question = _Question(resource, namespace, name, as_json=as_json, follow=follow)
    asyncio.run(_save(question, where, saving) if saving.is_asked else _ask(question, where))


@dataclass(frozen=True, slots=True)
class _Where:
    """Which operators are meant."""

    kubeconfig: Path | None
    context: str | None
    operator_namespace: str | None
    #: The cluster that is asked about, if operators work in several.
    cluster: str | None = None

    @asynccontextmanager
    async def finder(self) -> AsyncIterator[FindOperators]:
        """Yield a function that finds them, as often as it is called; it raises ``ClickException`` if there is none."""
        async with self._processes() as find_processes:

            async def find() -> list["RunningOperator"]:
                from steersman.cli.why.operators import in_each_cluster

                found, refusals = await in_each_cluster(await find_processes(), self.cluster)
                if not found and refusals:
                    raise _no_answer("", refusals)
                if not found:
                    raise click.ClickException(f"no running operator works in a cluster named {self.cluster!r}")
                return found

            yield find

    @asynccontextmanager
    async def _processes(self) -> AsyncIterator[FindOperators]:
        if self.kubeconfig is None and self.context is None:
            yield _on_this_machine
            return
        from steersman.cli.why.operators import operators_in_cluster
        from steersman.client.client import Client
        from steersman.transport.config import ClusterConfig

        config = ClusterConfig.load(self.kubeconfig, context=self.context)
        async with Client.connect_to(config) as client:

            async def find() -> list["RunningOperator"]:
                found = await operators_in_cluster(client, self.operator_namespace)
                if not found:
                    place = f"in namespace {self.operator_namespace}" if self.operator_namespace else "in any namespace"
                    raise click.ClickException(
                        f"there is no running pod of an operator {place} at {config.server}: "
                        f"`steer doctor` shows what is deployed"
                    )
                return found

            yield find


async def _on_this_machine() -> list["RunningOperator"]:
    from steersman.cli.why.operators import operator_at_socket
    from steersman.serving.private_socket import live_sockets

    found = [operator_at_socket(path) for path in live_sockets()]
    if not found:
        raise click.ClickException(
            "none of your operators runs on this machine: start one with `steer dev` or `steer run`, "
            "or pass --context for one in a cluster"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked."""

    resource: str
    namespace: str
    name: str
    as_json: bool
    follow: bool


async def _ask(question: _Question, where: _Where) -> None:
    async with where.finder() as find:
        operators = await find()
        if not question.name:
            await _print_overviews(operators, as_json=question.as_json)
            return
        view = await _find(question, operators)
        if question.as_json:
            _print_json(view)
        elif question.follow:
            await _follow(question, view, find)
        else:
            from steersman.history.explanation import explain

            _print_lines(explain(view, datetime.now().astimezone()))
            if not view.exists:
                sys.exit(1)


async def _save(question: _Question, where: _Where, saving: Saving) -> None:
    """Write recorded reconciles of an object into files."""
    from steersman.cli.why.operators import ask_all

    asked = question.resource, question.namespace, question.name
    async with where.finder() as find:
        found, refusals = await ask_all(await find(), lambda one: one.recordings(*asked))
    if not found:
        raise _no_answer(question.resource, refusals)
    # The shard of an object moves, and each replica has recorded its own reconciles.
    saving.write(sorted((one for some in found for one in some), key=lambda one: one.started))


def _no_answer(resource: str, refusals: Sequence["NoOperatorAnswer"]) -> click.ClickException:
    """Return why no operator has answered, in one sentence; what is known of other operators is not a reason."""
    from steersman.cli.why.operators import UnknownKind

    reasons = list(dict.fromkeys(str(one) for one in refusals if not isinstance(one, UnknownKind)))
    others = [str(one) for one in refusals if isinstance(one, UnknownKind)]
    if others:
        reasons.append(f"no running operator reconciles {resource!r} ({', '.join(others)}): start the one that does")
    return click.ClickException(printable("; ".join(reasons)))


async def _follow(question: _Question, view: "ObjectView", find: FindOperators) -> None:
    """Print what happens until the user ends it; an operator that stops answering is waited for."""
    from steersman.cli.why.following import Following
    from steersman.clock import RealClock
    from steersman.errors import SteersmanError

    clock, following = RealClock(), Following()
    _print_lines(following.take(view, datetime.now().astimezone()))
    while True:
        await clock.sleep(_LOOK_AGAIN)
        try:
            view = await _find(question, await find())
        except (click.ClickException, SteersmanError) as error:
            reason = error.message if isinstance(error, click.ClickException) else str(error)
            _print_lines(following.lost(reason), err=True)
        else:
            _print_lines(following.take(view, datetime.now().astimezone()))


async def _find(question: _Question, operators: list["RunningOperator"]) -> "ObjectView":
    """Ask every operator; return what the replicas of the one that knows most of the object know of it."""
    from steersman.cli.why.operators import ask_all
    from steersman.history.replicas import merged_view

    found, refusals = await ask_all(
        operators, lambda one: one.view(question.resource, question.namespace, question.name)
    )
    if not found:
        raise _no_answer(question.resource, refusals)
    view = merged_view(found)
    places = dict.fromkeys(one.cluster for one in found if one.exists and one.object == view.object)
    if len(places) > 1:
        note = f"steer: clusters {', '.join(places)} have such an object; this is about {view.cluster}"
        _print_lines([f"{note}: --cluster chooses another"], err=True)
    if view.exists and view.replica is not None and not view.replica.is_working:
        _print_lines(_silent(refusals), err=True)
    return view


def _silent(refusals: Sequence["NoOperatorAnswer"]) -> list[str]:
    """Return a line for each process that could not be asked, each reason once."""
    from steersman.cli.why.operators import UnknownKind

    reasons = dict.fromkeys(str(one) for one in refusals if not isinstance(one, UnknownKind))
    return [f"steer: {reason}" for reason in reasons]


def _print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines with control characters escaped: objects may contain any text."""
    for line in lines:
        click.echo(printable(line), err=err)


async def _print_overviews(operators: list["RunningOperator"], *, as_json: bool) -> None:
    from steersman.cli.why.operators import ask_all
    from steersman.cli.why.overview_text import overview_lines
    from steersman.history.replicas import merged_overviews, merged_summaries

    async def ask(operator: "RunningOperator") -> tuple["Overview", list["ObjectSummary"]]:
        return await operator.overview(), await operator.summaries()

    found, refusals = await ask_all(operators, ask)
    if not found:
        raise _no_answer("", refusals)
    _print_lines(_silent(refusals), err=True)
    answers = [(overview, merged_summaries(objects)) for overview, objects in merged_overviews(found)]
    if as_json:
        _print_json([{"overview": overview, "objects": summaries} for overview, summaries in answers])
        return
    now = datetime.now().astimezone()
    for number, (overview, summaries) in enumerate(answers):
        separator = [""] if number else []
        _print_lines([*separator, *overview_lines(overview, summaries, now, most=_SHOWN)])


def _print_json(value: object) -> None:
    import msgspec

    click.echo(printable_json(msgspec.json.format(msgspec.json.encode(value)).decode()))
