"""`steer image build` and `push`: build an OCI image without a daemon, or with Docker or Podman."""

import asyncio
import platform
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from importlib.metadata import Distribution

    from steersman.scaffold.image.base import BaseImage
    from steersman.scaffold.image.build import Recipe
    from steersman.scaffold.image.layer import File, Layer
    from steersman.scaffold.image.layout import Layout

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_OUT = Path("build/image")
#: Problems of libraries that a message names.
_SHOWN = 5


@click.group("image", short_help="Build and push the operator's container image.")
def command() -> None:
    """Build and push the operator's container image, without Docker.

    \b
    Example:
      $ steer image build --base python
      $ steer image push localhost:5000/custompod:1
    """


@command.command("build", short_help="Build the image.")
@click.option(
    "--base", type=click.Path(exists=True, path_type=Path), help="OCI layout of a Python image, or its tar archive."
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=_OUT, show_default=True, help="Folder of the OCI layout to write."
)
@click.option("--platform", "wanted", metavar="OS/ARCH", help="Platform of the base; default: this machine's.")
@click.option(
    "--with", "tool", type=click.Choice(["docker", "podman"]), help="Build the Dockerfile with this program instead."
)
@click.option("--tag", metavar="IMAGE", help="Name of the image; needed for --with.")
def build(*, base: Path | None, out: Path, wanted: str | None, tool: str | None, tag: str | None) -> None:
    """Build an image from the base, the installed packages that the project needs, and its code.

    The build is reproducible: the same inputs have the same digest. SOURCE_DATE_EPOCH sets the time of the files.
    A bill of materials (CycloneDX) and the provenance (SLSA) are attached to the image, and pushed with it.
    Packages and shared libraries that are missing in the image make the build fail, not the pods in the cluster.

    \b
    Examples:
      $ skopeo copy docker://python:3.13-slim oci:python
      $ steer image build --base python
      $ steer image build --with docker --tag registry.example.com/custompod:1
    """
    if tool is not None:
        if not tag:
            raise click.UsageError("--with needs a name for the image: pass --tag registry.example.com/name:1")
        _run(tool, "build", "-t", tag, ".")
        return
    if base is None:
        raise click.UsageError("pass --base with the OCI layout of a Python image, or --with docker")
    _build(base, out, wanted or f"linux/{_MACHINES.get(platform.machine(), platform.machine())}")


def _build(base: Path, out: Path, wanted: str) -> None:
    from steersman.scaffold.image.attachments import PROVENANCE, SBOM, Inputs, bill_of_materials, provenance
    from steersman.scaffold.image.base import read_base
    from steersman.scaffold.image.build import Recipe, build, epoch_from
    from steersman.scaffold.image.layout import Layout, opened
    from steersman.scaffold.project import project_in, version_of

    root = Path.cwd()
    project = project_in(root)
    _check_replaceable(out)
    recipe = Recipe(
        name=project.name, version=version_of(root), target=project.target, platform=wanted, epoch=epoch_from()
    )
    with opened(base) as layout:
        found = read_base(layout, wanted)
        python = _python_of(found)
        packages = _packages(root, recipe, python)
        layers = _layers(root, recipe, found, packages, project.package)
        image = Layout(_emptied(out))
        digest = build(layout, layers, recipe, image)
        inputs = Inputs(
            recipe=recipe,
            base=layout.manifest_digest(wanted),
            python=python,
            packages=packages,
            code=layers[-1].diff_id,
        )
    image.attach(SBOM, bill_of_materials(inputs))
    image.attach(PROVENANCE, provenance(inputs, digest))
    click.echo(f"built {project.name}:{recipe.version} in {out}: {digest}")


def _python_of(found: "BaseImage") -> str:
    """Return the full version of the image's Python; the packages installed here must be for it."""
    here = platform.python_version()
    if not found.python:
        click.echo(f"note: the Python version of the base is unknown: {here} is assumed", err=True)
        return here
    if found.python.split(".")[:2] != here.split(".")[:2]:
        raise click.ClickException(
            f"the base has Python {found.python}, but packages are installed here for {here}: use a base with the same "
            "minor version, or run steer with that of the base"
        )
    if found.python.count(".") == 1:
        click.echo(f"note: the base has some Python {found.python}: {here} is assumed", err=True)
        return here
    return found.python


def _packages(root: Path, recipe: "Recipe", python: str) -> "list[Distribution]":
    from steersman.scaffold.image.contents import needed_distributions
    from steersman.scaffold.image.markers import target_environment
    from steersman.scaffold.project import requirements_of

    return needed_distributions(requirements_of(root), target_environment(python, recipe.platform))


def _layers(
    root: Path, recipe: "Recipe", found: "BaseImage", distributions: "list[Distribution]", package: str
) -> list["Layer"]:
    from steersman.scaffold.image.bytecode import with_bytecode
    from steersman.scaffold.image.contents import CODE, package_files, tree_files
    from steersman.scaffold.image.layer import layer_of

    packages = list(package_files(distributions))
    code = list(tree_files(root / package, f"{CODE}/{package}"))
    _check_libraries([*packages, *code], found, recipe.platform)
    return [
        layer_of("packages", with_bytecode(packages), epoch=recipe.epoch),
        layer_of("code", with_bytecode(code), epoch=recipe.epoch),
    ]


def _check_libraries(files: "list[File]", found: "BaseImage", wanted: str) -> None:
    """Reject an image whose extension modules cannot be loaded: the pod would fail at its first import."""
    from steersman.scaffold.image.elf import library_problems

    if not found.names:
        click.echo("note: the layers of the base cannot be read: shared libraries are not checked", err=True)
        return
    if problems := library_problems(files, found.names, wanted.partition("/")[2]):
        shown = "; ".join(problems[:_SHOWN]) + (
            f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        )
        hint = "" if "libc.so.6" in found.names else " (the base has no glibc: is it Alpine?)"
        raise click.ClickException(
            f"the image would not start: {shown}, which neither the base nor a package has{hint}"
        )


def _check_replaceable(out: Path) -> None:
    """Reject a folder with anything else in it than an image that was built before."""
    if out.exists() and any(out.iterdir()) and not (out / "oci-layout").is_file():
        raise click.ClickException(f"{out} is not empty and holds no image: nothing was written")


def _emptied(out: Path) -> Path:
    """Return an empty folder; an image that was built before is removed."""
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    return out


@command.command("push", short_help="Push the image.")
@click.argument("reference", metavar="REGISTRY/NAME:TAG")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), default=_OUT, show_default=True, help="OCI layout to push."
)
@click.option("--plain-http", is_flag=True, help="Allow a registry on another machine without TLS.")
@click.option("--with", "tool", type=click.Choice(["docker", "podman"]), help="Push with this program instead.")
def push(reference: str, source: Path, *, plain_http: bool, tool: str | None) -> None:
    """Push the image. Credentials are those of 'docker login' in ~/.docker/config.json.

    \b
    Example:
      $ steer image push localhost:5000/custompod:1
    """
    if tool is not None:
        _run(tool, "push", reference)
        return
    from steersman.scaffold.image.layout import Layout

    _push(reference, Layout(source), plain=plain_http)


def _push(text: str, layout: "Layout", *, plain: bool) -> None:
    from steersman.clock import RealClock
    from steersman.scaffold.image.reference import Reference, kept_login
    from steersman.scaffold.image.registry import Registry

    reference = Reference.parse(text)
    if not layout.root.exists():
        raise click.UsageError(f"there is no image in {layout.root}: run 'steer image build' first")
    login = kept_login(reference.host, Path("~/.docker/config.json").expanduser())
    registry = Registry(reference, login, clock=RealClock(), plain=plain)
    digest = asyncio.run(registry.push(layout, click.echo))
    click.echo(f"pushed {reference}: {digest}")
    click.echo(f"Next: steer deploy --image {reference.host}/{reference.repository}@{digest}")


def _run(*arguments: str) -> None:
    if arguments[-1].startswith("-"):
        raise click.UsageError(f"{arguments[-1]!r} is not an image name")
    try:
        answer = subprocess.run(arguments, check=False)  # noqa: S603 - the tool that the user chose, no shell
    except FileNotFoundError:
        raise click.ClickException(f"{arguments[0]} is not installed") from None
    if answer.returncode:
        raise click.ClickException(f"{arguments[0]} failed: see its output above")
