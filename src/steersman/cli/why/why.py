"""`steer why KIND/NAME`: why an object is as it is, and what the operator does about it next."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.parameters import parse_object

if TYPE_CHECKING:
    from steersman.cli.why.operators import RunningOperator
    from steersman.history.records import ObjectView
    from steersman.history.state import ObjectSummary, Overview

#: Seconds between two looks with ``--follow``.
_LOOK_AGAIN = 0.5
#: Objects of a list that are shown.
_SHOWN = 20


@click.command("why", short_help="Explain what a running operator does about an object, and why.")
@click.argument("target", metavar="[KIND/NAME]", required=False)
@click.option("--namespace", "-n", metavar="NAME", default="default", help="Namespace of the object; default: default.")
@click.option("--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), help="Ask an operator in this cluster.")
@click.option("--context", metavar="NAME", help="Ask an operator in the cluster of this context.")
@click.option("--operator-namespace", metavar="NAME", help="Namespace of the operator's pods; default: all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what happens next, until Ctrl-C.")
def command(  # noqa: PLR0913 - the options of the command, each by its name
    target: str | None,
    *,
    namespace: str,
    kubeconfig: Path | None,
    context: str | None,
    operator_namespace: str | None,
    as_json: bool,
    follow: bool,
) -> None:
    """Explain what a running operator does about an object, and why.

    The first line says whether the object is ready and why not, the second when it is reconciled next; then follow its
    last reconciles with their causes, reads and writes. Without an object: the state of the operator, and the objects
    that fail, wait or trigger themselves.

    The operator is one on this machine (`steer dev`, `steer run`), or with --context or --kubeconfig one that was
    deployed: it is reached by a port-forward to its pod, with your own permissions.

    \b
    Examples:
      $ steer why custompod/a
      $ steer why custompod/a -n shop --follow
      $ steer why --context my-cluster
    """
    where = _Where(kubeconfig, context, operator_namespace)
    resource, name = parse_object(target) if target is not None else ("", "")
    if follow and (not name or as_json):
        raise click.UsageError("--follow needs KIND/NAME, and prints text")
    question = _Question(resource, namespace, name, as_json=as_json, follow=follow)
    asyncio.run(_ask(question, where))


@dataclass(frozen=True, slots=True)
class _Where:
    """Which operators are meant."""

    kubeconfig: Path | None
    context: str | None
    operator_namespace: str | None

    @asynccontextmanager
    async def operators(self) -> AsyncIterator[list["RunningOperator"]]:
        """Find them; raises ``ClickException`` if there is none."""
        if self.kubeconfig is None and self.context is None:
            yield _on_this_machine()
            return
        from steersman.cli.why.operators import operators_in_cluster
        from steersman.client.client import Client
        from steersman.transport.config import ClusterConfig

        config = ClusterConfig.load(self.kubeconfig, context=self.context)
        async with Client.connect_to(config) as client:
            found = await operators_in_cluster(client, self.operator_namespace)
            if not found:
                place = f"in namespace {self.operator_namespace}" if self.operator_namespace else "in any namespace"
                raise click.ClickException(
                    f"no running pod of an operator {place} at {config.server}: `steer doctor` says what is deployed"
                )
            yield found


def _on_this_machine() -> list["RunningOperator"]:
    from steersman.cli.why.operators import operator_at_socket
    from steersman.serving.private_socket import live_sockets

    found = [operator_at_socket(path) for path in live_sockets()]
    if not found:
        raise click.ClickException(
            "no operator of yours runs on this machine: start one with `steer dev` or `steer run`, "
            "or name a cluster with --context"
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
    from steersman.clock import RealClock

    clock = RealClock()
    async with where.operators() as operators:
        if not question.name:
            await _tell_overviews(operators, as_json=question.as_json)
            return
        operator, view = await _find(question, operators)
        if question.as_json:
            _print_json(view)
            return
        shown = _show(view, since=0)
        if not view.exists and not question.follow:
            sys.exit(1)
        while question.follow:
            await clock.sleep(_LOOK_AGAIN)
            view = await operator.view(question.resource, question.namespace, question.name)
            shown = _show(view, since=shown) if _newest(view) > shown else shown


async def _find(question: _Question, operators: list["RunningOperator"]) -> tuple["RunningOperator", "ObjectView"]:
    """Ask each operator until one reconciles the kind; of several the one that remembers something of the object."""
    from steersman.cli.why.operators import NoOperatorAnswer

    refusals: list[str] = []
    found: list[tuple[RunningOperator, ObjectView]] = []
    for operator in operators:
        try:
            found.append((operator, await operator.view(question.resource, question.namespace, question.name)))
        except NoOperatorAnswer as refusal:
            refusals.append(str(refusal))
    if not found:
        raise click.ClickException("; ".join(dict.fromkeys(refusals)))
    return max(found, key=lambda one: (len(one[1].reconciles), one[1].exists))


def _newest(view: "ObjectView") -> int:
    return view.reconciles[-1].number if view.reconciles else 0


def _show(view: "ObjectView", *, since: int) -> int:
    """Print an explanation, only with reconciles after a number; return the number of the last one."""
    from msgspec.structs import replace

    from steersman.history.explanation import explain

    newer = tuple(one for one in view.reconciles if one.number > since)
    click.echo("\n".join(explain(replace(view, reconciles=newer), datetime.now().astimezone())))
    return _newest(view)


async def _tell_overviews(operators: list["RunningOperator"], *, as_json: bool) -> None:
    from steersman.cli.why.operators import NoOperatorAnswer
    from steersman.cli.why.overview_text import overview_lines

    answers: list[tuple[Overview, list[ObjectSummary]]] = []
    for operator in operators:
        try:
            answers.append((await operator.overview(), await operator.summaries()))
        except NoOperatorAnswer as refusal:
            click.echo(f"steer: {refusal}", err=True)
    if not answers:
        raise click.ClickException("no operator answered: restart it, or pass --context for one in a cluster")
    if as_json:
        _print_json([{"overview": overview, "objects": summaries} for overview, summaries in answers])
        return
    now = datetime.now().astimezone()
    texts = ["\n".join(overview_lines(overview, summaries, now, most=_SHOWN)) for overview, summaries in answers]
    click.echo("\n\n".join(texts))


def _print_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())
