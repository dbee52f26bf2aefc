"""The plan of another version of the operator: made by the project in another folder, with its own Python."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.target import project_target

if TYPE_CHECKING:
    from steersman.planning.plan import PlannedObject

#: The environment variable by which two plans of one comparison share the key of their hashes.
_HASH_KEY = "STEERSMAN_PLAN_HASH_KEY"


def hash_key(*, is_shared: bool) -> bytes:
    """Return the key of the hashes of Secrets: that of the process which compares, or a new one to be shared."""
    if is_shared and _HASH_KEY not in os.environ:
        os.environ[_HASH_KEY] = os.urandom(32).hex()
    return bytes.fromhex(os.environ.get(_HASH_KEY, ""))


def plan_of_project(project: Path, arguments: Iterable[str]) -> "tuple[PlannedObject, ...]":
    """Return what the operator of a project would do, planned in a process of its own."""
    from steersman.errors import DecodeError
    from steersman.objects.codec import decode_json
    from steersman.planning.document import read_objects

    own = project / ".venv" / "bin" / "python"
    python = str(own.absolute()) if own.exists() else sys.executable
    command = [python, "-m", "steersman.cli", "plan", project_target(project), *arguments, "--output", "json"]
    made = subprocess.run(command, cwd=project, capture_output=True, check=False)  # noqa: S603 - the user's own project
    try:
        return read_objects(decode_json(made.stdout))
    except DecodeError:
        reason = made.stderr.decode(errors="replace").strip()
        raise click.ClickException(f"{project} cannot be planned: {reason}") from None
