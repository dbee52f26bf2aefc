"""`steer doctor`: checks everything from Python to the cluster, and gives advice."""

import asyncio
import platform
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.target import operator_option

if TYPE_CHECKING:
    from steersman.cli.cluster.diagnosis import Finding
    from steersman.cli.target import Declared
    from steersman.client.client import Client
    from steersman.transport.config import ClusterConfig

_COLOURS = {"ok": "green", "note": "yellow", "bad": "red"}


@click.command("doctor", short_help="Find out what is wrong.")
@operator_option
@click.option("--deployed", is_flag=True, help="Check the RBAC permissions of the deployed operator, not yours.")
@click.option("--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), help="Kubeconfig file.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig.")
def command(*, target: str | None, deployed: bool, kubeconfig: Path | None, context: str | None) -> None:
    """Check Python, the project and the cluster: CRDs, RBAC permissions, webhooks, the Deployment. Print advice.

    Nothing is changed. The exit code is 1 if a check fails.

    \b
    Example:
      $ steer doctor --context my-cluster
    """
    bad = asyncio.run(_examine(target, kubeconfig, context, deployed=deployed))
    if bad:
        raise click.ClickException(f"{bad} {'check' if bad == 1 else 'checks'} failed")


async def _examine(target: str | None, kubeconfig: Path | None, context: str | None, *, deployed: bool) -> int:
    from steersman.cli.cluster.diagnosis import Level

    bad = 0
    async for finding in _findings(target, kubeconfig, context, deployed=deployed):
        mark = click.style(f"{finding.level.value:>4}", fg=_COLOURS[finding.level.value])
        click.echo(f"{mark}  {finding.what}")
        if finding.advice:
            click.echo(f"      → {finding.advice}")
        bad += finding.level is Level.BAD
    return bad


async def _findings(
    target: str | None, kubeconfig: Path | None, context: str | None, *, deployed: bool
) -> AsyncIterator["Finding"]:
    from steersman.cli.cluster.diagnosis import bad
    from steersman.errors import ConfigError, SteersmanError
    from steersman.transport.config import ClusterConfig

    for finding in _here():
        yield finding
    found, findings = _project(target)
    for finding in findings:
        yield finding
    try:
        config = ClusterConfig.load(kubeconfig, context=context)
    except ConfigError as error:
        yield bad(f"no cluster: {error}", "set KUBECONFIG, or start one with 'steer server'")
        return
    try:
        async for finding in _cluster(config, found, deployed=deployed):
            yield finding
    except SteersmanError as error:
        yield bad(
            f"context {config.context or '(none)'} at {config.server}: {error}",
            "check that the server runs and that the kubeconfig has the right address",
        )


def _here() -> Iterator["Finding"]:
    from importlib.util import find_spec

    from steersman.cli.cluster.diagnosis import good, note
    from steersman.version import __version__

    yield good(f"steersman {__version__} on Python {platform.python_version()}")
    if find_spec("uvloop") is None:
        yield note("uvloop is not installed: everything works, but slower", "pip install uvloop")


def _project(target: str | None) -> tuple["Declared | None", list["Finding"]]:
    """Return what the project declares, if it can be loaded, and findings about it."""
    from steersman.cli.cluster.diagnosis import bad, good, note
    from steersman.cli.target import declared
    from steersman.errors import SteersmanError
    from steersman.manager.definitions import operator_definitions

    try:
        found = declared(target)
        count = len(operator_definitions([found.operator]))
    except click.BadParameter as error:
        return None, [
            bad(f"the operator cannot be loaded: {error.format_message()}", "correct it; --operator names another")
        ]
    except click.UsageError as error:
        return None, [note(error.format_message(), "create one with 'steer init NAME'")]
    except SteersmanError as error:
        return None, [bad(f"the operator cannot be used: {error}", "correct its declarations")]
    reconcilers = _number(len(found.operator.reconcilers), "reconciler")
    what = f"operator {found.operator.name}: {reconcilers}, {_number(count, 'CRD')}"
    return found, [good(what), *_manifests(found)]


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _manifests(found: "Declared") -> Iterator["Finding"]:
    from steersman.cli.cluster.diagnosis import note
    from steersman.scaffold.manifests.plain import manifest_files
    from steersman.scaffold.tree import Tree

    out = Path("manifests")
    if out.is_dir() and Tree(out).outdated(manifest_files(found.operator, found.shape)):
        yield note(f"{out} is out of date", "run 'steer manifests'")


async def _cluster(config: "ClusterConfig", found: "Declared | None", *, deployed: bool) -> AsyncIterator["Finding"]:
    from steersman.cli.cluster import diagnosis
    from steersman.cli.cluster.webhook_diagnosis import webhook_findings
    from steersman.client.client import Client
    from steersman.scaffold.manifests.plain import definition_objects

    async with Client.connect_to(config) as client:
        yield await _server(client, config)
        async for finding in webhook_findings(client):
            yield finding
        if found is None:
            return
        definitions = definition_objects(found.operator, found.shape)
        async for finding in diagnosis.definition_findings(client, definitions):
            yield finding
        async for finding in diagnosis.kind_findings(client, found.operator):
            yield finding
        async for finding in _operator(client, found, deployed=deployed):
            yield finding


async def _operator(client: "Client", found: "Declared", *, deployed: bool) -> AsyncIterator["Finding"]:
    """Check the operator's permissions, and the state of its deployment."""
    from steersman.cli.cluster import diagnosis
    from steersman.cli.why.operators import operators_in_cluster
    from steersman.errors import Forbidden
    from steersman.manager.rbac import grants_of

    name, namespace = found.operator.name, found.shape.namespace
    account = f"system:serviceaccount:{namespace}:{name}" if deployed else ""
    async for finding in diagnosis.permission_findings(
        client, grants_of(found.operator), namespaces=found.shape.watch, account=account
    ):
        yield finding
    if deployed:
        async for finding in diagnosis.lease_findings(found.operator, client, namespace, account):
            yield finding
    yield await diagnosis.deployment_finding(client, name, namespace)
    try:
        running = await operators_in_cluster(client, namespace)
    except Forbidden:
        return
    async for finding in diagnosis.cache_findings(running, name):
        yield finding


async def _server(client: "Client", config: "ClusterConfig") -> "Finding":
    from steersman.cli.cluster.diagnosis import good
    from steersman.objects.codec import decode_json
    from steersman.protocol.http import Request
    from steersman.protocol.responses import body_of

    version = decode_json(body_of(await client.transport.request(Request("GET", "/version"))))
    return good(f"Kubernetes {version.get('gitVersion')}: context {config.context or '(none)'} at {config.server}")
