"""`steer update`: merge the changes of the project template since the project was created."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from steersman.scaffold.template_record import Template
    from steersman.scaffold.tree import Tree


@click.command("update", short_help="Merge changes of the project template into the project.")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if there is something to update.")
def command(*, check: bool) -> None:
    """Merge what has changed in the template since the project was created or last updated.

    The Makefile, the Dockerfile, the CI workflow and other files of `steer init` change between versions of Steersman.
    Each change is merged into the project's file, and your own changes stay. Where both have changed the same lines,
    the file gets both versions between conflict markers. Kinds and reconcilers are never touched.

    \b
    Example:
      $ pip install --upgrade steersman
      $ steer update
      $ git diff
    """
    from steersman.scaffold.template_record import RECORD, Update, record_of, updated_files
    from steersman.scaffold.tree import Tree

    tree = Tree(Path.cwd())
    base, new = _templates(tree)
    _reject_older(base, new)
    present = {name: tree.read(name) for name in sorted({*base.files, *new.files})}
    _reject_unresolved(present)
    files = updated_files(base, new, present)
    written = [file for file in files if file.update not in (Update.LEFT_OUT, Update.KEPT)]
    if not check:
        tree.put({file.name: file.text for file in written})
        tree.put({RECORD: record_of(new)})
    for file in files:
        click.echo(f"{file.update.value:9} {file.name}{_REMARKS.get(file.update.name, '')}")
    conflicts = [file for file in files if file.update is Update.CONFLICT]
    click.echo(_summary(base, new, len(written), len(conflicts), check=check))
    if conflicts or (check and written):
        sys.exit(1)


_REMARKS = {
    "CONFLICT": ": both have changed the same lines; look for <<<<<<<",
    "LEFT_OUT": ": you have deleted it",
    "KEPT": ": the template has a file of this name now, and yours stays",
}


def _templates(tree: "Tree") -> "tuple[Template, Template]":
    """Return the template that the project was made of, and that of this version of Steersman."""
    from steersman.errors import ConfigError
    from steersman.scaffold.files import project_files
    from steersman.scaffold.project import project_in
    from steersman.scaffold.template_record import RECORD, Template, read_record
    from steersman.version import __version__

    project = project_in(Path.cwd())
    text = tree.read(RECORD)
    if text is None:
        raise ConfigError(
            f"{RECORD} is missing, so nothing is known of the template that this project was made of: restore it from "
            "version control, or create a project of the same name in another folder and compare"
        )
    return read_record(text), Template(__version__, project_files(project))


def _reject_older(base: "Template", new: "Template") -> None:
    """Reject to go back to the template of an older Steersman."""
    from steersman.errors import ConfigError

    if _number(base.version) > _number(new.version):
        raise ConfigError(
            f"the project was last updated with steersman {base.version}, and this is {new.version}: upgrade steersman "
            "first; nothing was changed"
        )


def _number(version: str) -> list[int]:
    """Return the numbers of a version, to compare it by."""
    return [int(part) for part in re.findall(r"\d+", version)]


def _reject_unresolved(present: Mapping[str, str | None]) -> None:
    """Reject to go on while a file has conflicts of an earlier update."""
    from steersman.errors import ConfigError

    for name, text in present.items():
        if "<<<<<<< yours\n" in (text or ""):
            raise ConfigError(f"{name} has conflicts of an earlier update: resolve them first; nothing was changed")


def _summary(base: "Template", new: "Template", written: int, conflicts: int, *, check: bool) -> str:
    if not written:
        return f"The project is up to date with steersman {new.version}."
    if check:
        return f"`steer update` would write {written} file{'s' if written > 1 else ''}; nothing was changed."
    end = f"; resolve {conflicts} conflict{'s' if conflicts > 1 else ''}" if conflicts else ""
    return f"Updated from steersman {base.version} to {new.version}{end}."
