"""`steer manifests`: definitions, permissions and a deployment as YAML, from what the operator declares."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steersman.cli.target import image_option, operator_option
from steersman.json_types import JsonObject

if TYPE_CHECKING:
    from steersman.cli.target import Declared


@click.command("manifests", short_help="Write CRDs, RBAC roles, webhooks and the Deployment as YAML.")
@operator_option
@image_option
@click.option("--out", type=click.Path(path_type=Path), default=Path("manifests"), show_default=True, help="Folder.")
@click.option("--monitoring", is_flag=True, help="With a ServiceMonitor, alerts and a dashboard.")
@click.option("--check", is_flag=True, help="Write nothing; fail if the folder is out of date.")
@click.option("--against", metavar="RELEASE", help="Git revision, folder or file: fail on breaking changes of CRDs.")
def command(*, target: str | None, image: str, out: Path, monitoring: bool, check: bool, against: str | None) -> None:
    """Write CRDs, RBAC roles, webhooks and a Deployment: as YAML files, a kustomize base, and one install.yaml.

    \b
    Examples:
      $ steer manifests
      $ steer manifests --check               # in CI
      $ steer manifests --against v1.2.0      # before a release
    """
    from dataclasses import replace

    from steersman.cli.project.output import write_or_check
    from steersman.cli.target import declared
    from steersman.scaffold.manifests.plain import manifest_files

    found = declared(target, image)
    shape = replace(found.shape, monitoring=found.shape.monitoring or monitoring)
    if against is not None:
        _compare(found, against, out)
        return
    files = manifest_files(found.operator, shape)
    write_or_check(out, files, check=check, command="steer manifests --monitoring" if monitoring else "steer manifests")


def _compare(found: "Declared", release: str, out: Path) -> None:
    from steersman.scaffold.manifests.plain import definition_objects
    from steersman.scaffold.manifests.releases import release_changes
    from steersman.schema.schema_diff import Severity

    before = _definitions(release, out)
    if not before:
        raise click.ClickException(f"{release} has no CRDs to compare with")
    changes = release_changes(before, definition_objects(found.operator))
    for name, each in changes.items():
        click.echo(name)
        for change in each:
            click.echo(f"  {change}")
    broken = sum(change.severity is Severity.BREAKING for each in changes.values() for change in each)
    if broken:
        raise click.ClickException(f"{broken} breaking {'change' if broken == 1 else 'changes'} since {release}")
    click.echo(f"no breaking changes since {release}")


def _definitions(release: str, out: Path) -> list[JsonObject]:
    """Read the definitions of a release: a file or folder, else a revision of this repository."""
    from steersman.protocol.manifests import load

    path = Path(release)
    if path.exists():
        folder = path / "crds" if (path / "crds").is_dir() else path
        files = sorted(folder.rglob("*.yaml")) if path.is_dir() else [path]
        texts = {str(file): file.read_bytes() for file in files}
    else:
        texts = _revision(release, out)
    objects = [obj for name, text in texts.items() for obj in _objects(load, name, text)]
    definitions = [obj for obj in objects if obj.get("kind") == "CustomResourceDefinition"]
    return list({obj["metadata"]["name"]: obj for obj in definitions}.values())


def _objects(load: Any, name: str, text: bytes) -> list[JsonObject]:
    found: list[JsonObject] = load(text, source=name)
    return found


def _revision(revision: str, out: Path) -> dict[str, bytes]:
    """Read the folder of manifests as it was in a revision."""
    if revision.startswith("-"):
        raise click.UsageError(f"{revision!r} is not a git revision")
    listed = _git("ls-tree", "-r", "--name-only", "-z", revision, "--", f"{out}/crds", revision=revision)
    names = [name for name in listed.decode().split("\0") if name.endswith(".yaml")]
    return {name: _git("show", f"{revision}:./{name}", revision=revision) for name in names}


def _git(*arguments: str, revision: str) -> bytes:
    try:
        answer = subprocess.run(["git", *arguments], capture_output=True, check=True)  # noqa: S603, S607 - the user's git, no shell
    except FileNotFoundError:
        raise click.ClickException(f"{revision} is not a file, and git is not installed") from None
    except subprocess.CalledProcessError as error:
        what = error.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["git failed"]
        raise click.ClickException(f"{revision} is neither a file, a folder nor a git revision: {what[0]}") from None
    return answer.stdout
