"""`steer generate models`: typed classes for other people's kinds."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

_KIND = "CustomResourceDefinition"
_MADE_BY = "steer generate models"
_WEB = ("https://", "http://")


@click.group("generate", short_help="Write classes for other people's kinds.")
def command() -> None:
    """Generate code from existing CRDs. Your own kinds need no generated code.

    \b
    Example:
      $ steer generate models --from crds.yaml --out custompod/others
    """


@command.command("models", short_help="Write typed classes for CRDs.")
@click.option("--from", "source", required=True, metavar="FILE|URL|cluster", help="Source of the CRDs.")
@click.option("--only", multiple=True, metavar="PLURAL.GROUP", help="Only this CRD; repeatable.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("models"), show_default=True, help="Folder.")
@click.option("--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), help="Kubeconfig file.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig.")
def models(source: str, only: tuple[str, ...], out: Path, kubeconfig: Path | None, context: str | None) -> None:
    """Write a module of typed classes for each group and version of the CRDs.

    \b
    Examples:
      $ steer generate models --from crds.yaml --out custompod/others
      $ steer generate models --from cluster --only certificates.cert-manager.io
    """
    from steersman.kinds.generator import models_of
    from steersman.scaffold.tree import Tree

    definitions = _selected(_read(source, kubeconfig, context), only, source)
    files = models_of(definitions, _MADE_BY)
    files["__init__.py"] = '"""Classes for other people\'s kinds, made by `steer generate models`."""\n'
    for name in Tree(out).put(files):
        click.echo(f"wrote {out / name}")


def _selected(found: list[dict[str, Any]], only: tuple[str, ...], source: str) -> list[Mapping[str, Any]]:
    definitions = {str(obj["metadata"]["name"]): obj for obj in found if obj.get("kind") == _KIND}
    if not definitions:
        raise click.ClickException(f"{source} contains no {_KIND}")
    for name in only:
        if name not in definitions:
            raise click.ClickException(f"{source} has no CRD {name}; it has {', '.join(sorted(definitions))}")
    return [definitions[name] for name in only or sorted(definitions)]


def _read(source: str, kubeconfig: Path | None, context: str | None) -> list[dict[str, Any]]:
    from steersman.protocol.manifests import load

    if source == "cluster":
        return asyncio.run(_from_cluster(kubeconfig, context))
    if source.startswith(_WEB):
        from steersman.cli.web import fetch

        return load(asyncio.run(fetch(source)), source=source)
    return load(Path(source).read_bytes(), source=source)


async def _from_cluster(kubeconfig: Path | None, context: str | None) -> list[dict[str, Any]]:
    from steersman.client.client import Client
    from steersman.objects.identity import GroupVersionKind
    from steersman.transport.config import ClusterConfig

    config = ClusterConfig.load(kubeconfig, context=context)
    click.echo(f"read CRDs: context {config.context or '(none)'} at {config.server}", err=True)
    async with Client.connect_to(config) as client:
        return [obj.content async for obj in client.list(GroupVersionKind("apiextensions.k8s.io", "v1", _KIND))]
