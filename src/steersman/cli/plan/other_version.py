"""The plan of another version of the operator, made in a process of its own.

The other version is a project in a folder, planned by its own ``.venv`` if it has one, or an image: a reference in a
registry, an OCI layout, or an archive of one. Of an image, the packages and the code are unpacked and run by a Python
of the same minor version on this machine, with the user's permissions, as the code of a folder is: without a container,
without the image's environment variables and without its system libraries.
"""

import asyncio
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import click

from steersman.cli.plan.deployment import deployment_of
from steersman.cli.target import project_target

if TYPE_CHECKING:
    from steersman.planning.document import ReadPlan
    from steersman.scaffold.image.layout import Layout
    from steersman.scaffold.image.reference import Reference
    from steersman.transport.config import Authentication

#: The environment variable by which two plans of one comparison share the key of their hashes.
_HASH_KEY = "STEERSMAN_PLAN_HASH_KEY"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
#: Settings of Python that would mix this environment into that of an image.
_OWN_SETTINGS = re.compile(r"PYTHON|VIRTUAL_ENV$")


def hash_key(*, is_shared: bool) -> bytes:
    """Return the key of the hashes of Secrets: that of the process which compares, or a new one to be shared."""
    if is_shared and _HASH_KEY not in os.environ:
        os.environ[_HASH_KEY] = os.urandom(32).hex()
    return bytes.fromhex(os.environ.get(_HASH_KEY, ""))


def plan_of_other(
    against: str,
    arguments: Sequence[str],
    proposed: bytes = b"",
    namespaces: tuple[str, ...] = (),
    watch: tuple[str, ...] = (),
) -> "ReadPlan":
    """Return what the operator of a project or an image would do; it reads the proposed objects from its input.

    If the user names no namespaces, a project has those that it watches, and an image the ones that are watched here.
    """
    folder = Path(against)
    if folder.is_dir() and not (folder / "oci-layout").is_file():
        chosen = _options(namespaces or deployment_of(folder).watch)
        made = _run(_of_project(folder), [*arguments, *chosen], proposed)
    else:
        with _image(against) as layout, TemporaryDirectory(prefix="steersman-") as place:
            chosen = _options(namespaces or watch)
            made = _run(_of_image(against, layout, Path(place)), [*arguments, *chosen], proposed)
    return _read(against, made)


def _options(namespaces: Iterable[str]) -> list[str]:
    return [text for name in namespaces for text in ("--namespace", name)]


class _Other(NamedTuple):
    """How the other version is started."""

    python: list[str]
    target: str
    folder: Path
    #: Environment variables; ``None`` for those of this process.
    environment: dict[str, str] | None = None


def _of_project(project: Path) -> _Other:
    own = project / ".venv" / "bin" / "python"
    python = str(own.absolute()) if own.exists() else sys.executable
    target = project_target(project, option="the folder of a project")
    with deployment_of(project).variables_set():
        return _Other([python], target, project, dict(os.environ))


@contextmanager
def _image(name: str) -> "Iterator[Layout]":
    """Yield the layout of an image: a folder, an archive, or pulled from a registry."""
    from steersman.scaffold.image.layout import Layout, opened

    if name.startswith((".", "/", "~")) and not Path(name).exists():
        raise click.ClickException(f"--against: there is no folder and no archive {name}")
    if Path(name).exists():
        with opened(Path(name)) as layout:
            yield layout
        return
    from steersman.errors import ConfigError
    from steersman.scaffold.image.reference import Reference, kept_login

    try:
        reference = Reference.parse(name)
    except ConfigError as error:
        raise click.ClickException(
            f"--against: {name} is neither a folder nor an archive, and as an image {error}"
        ) from None
    with TemporaryDirectory(prefix="steersman-") as place:
        layout = Layout(Path(place))
        click.echo(f"pulling {reference}", err=True)
        login = kept_login(reference.host, Path("~/.docker/config.json").expanduser())
        asyncio.run(_pull(reference, login, layout))
        yield layout


async def _pull(reference: "Reference", login: "Authentication", layout: "Layout") -> None:
    from steersman.clock import RealClock
    from steersman.scaffold.image.registry import Registry

    await Registry(reference, login, clock=RealClock()).pull(layout, _platform())


def _of_image(name: str, layout: "Layout", place: Path) -> _Other:
    from steersman.scaffold.image.unpack import unpack

    if sys.platform != "linux":
        raise click.ClickException(f"{name}: the packages of an image run on Linux only; pass a folder to --against")
    found = unpack(layout, _platform(), place)
    # -S: nothing that is installed here is imported, only the packages of the image.
    command = [_python(name, found.python), "-S", "-P"]
    path = {"PYTHONPATH": os.pathsep.join(map(str, found.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    kept = {key: value for key, value in os.environ.items() if not _OWN_SETTINGS.match(key)}
    return _Other(command, found.target, found.folder, {**kept, **path})


def _platform() -> str:
    return f"linux/{_MACHINES.get(platform.machine(), platform.machine())}"


def _python(name: str, wanted: str) -> str:
    """Return a Python of the image's minor version, whose compiled packages it can import."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if wanted in ("", here):
        return sys.executable
    found = shutil.which(f"python{wanted}")
    if found is None:
        raise click.ClickException(
            f"{name} has Python {wanted}, and this is {here}: install python{wanted}, whose packages are not those of "
            f"{here}, or pass the folder of that version to --against"
        )
    return found


def _run(other: _Other, arguments: Iterable[str], proposed: bytes) -> "subprocess.CompletedProcess[bytes]":
    command = [*other.python, "-m", "steersman.cli", "plan", other.target, *arguments, "--output", "json"]
    return subprocess.run(  # noqa: S603 - what the user named
        command, cwd=other.folder, env=other.environment, input=proposed, capture_output=True, check=False
    )


def _read(name: str, made: "subprocess.CompletedProcess[bytes]") -> "ReadPlan":
    """Return the plan that another process printed."""
    from steersman.errors import DecodeError
    from steersman.objects.codec import decode_json
    from steersman.planning.document import read_plan

    # An older version does not keep apart what the operator prints: the plan is what comes last.
    start = max(made.stdout.find(b"{\n"), 0)
    try:
        return read_plan(decode_json(made.stdout[start:]))
    except DecodeError:
        reason = made.stderr.decode(errors="replace").strip().removeprefix("steer: ")
        ended = f"its process ended with {made.returncode} and without a plan"
        raise click.ClickException(f"{name} cannot be planned: {reason or ended}") from None
