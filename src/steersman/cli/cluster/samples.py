"""`steer samples apply`: the samples of the project, in a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.cluster.target import Access, cluster_options, run

if TYPE_CHECKING:
    from steersman.objects.resource import Unstructured


@click.group("samples", short_help="Apply the project's samples to a cluster.")
def command() -> None:
    """Apply the samples of the project in this folder to a cluster.

    \b
    Example:
      $ steer samples apply --context my-cluster
    """


@command.command("apply", short_help="Apply the samples.")
@click.option(
    "--from", "folder", type=click.Path(path_type=Path), default=Path("samples"), help="Folder; default: samples."
)
@cluster_options
def apply(folder: Path, *, kubeconfig: Path | None, context: str | None, yes: bool, dry_run: bool) -> None:
    """Apply every object in the YAML files of the samples folder.

    \b
    Example:
      $ steer samples apply --context my-cluster
    """
    objects = sample_objects(folder)
    if not objects:
        raise click.ClickException(f"the folder {folder} has no YAML files with objects: pass another one with --from")
    run(_apply(objects, Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)))


async def _apply(objects: list["Unstructured"], access: Access) -> None:
    from steersman.cli.cluster.applying import apply_all

    async with access.connect(f"apply {len(objects)} samples", manager="steer") as client:
        await apply_all(client, objects, dry_run=access.dry_run)


def sample_objects(folder: Path) -> list["Unstructured"]:
    """Read every object of a folder's YAML files, in the order of their names."""
    from steersman.protocol.manifests import load_objects

    files = sorted(folder.glob("*.yaml"))
    return [obj for file in files for obj in load_objects(file.read_bytes(), source=str(file))]
