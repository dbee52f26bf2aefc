"""`steer update`: merge the changes of the project template since the project was created."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from steersman.scaffold.template_record import Template, UpdatedFile
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
    files = updated_files(base, new, {name: tree.read(name) for name in {*base.files, *new.files}})
    _reject_unresolved(tree, files)
    if not check:
        tree.put({file.name: file.text for file in files if file.update not in (Update.LEFT_OUT, Update.KEPT)})
        tree.put({RECORD: record_of(new)})
    for file in files:
        click.echo(f"{file.update.value:9} {file.name}{_REMARKS.get(file.update.name, '')}")
    conflicts = [file for file in files if file.update is Update.CONFLICT]
    click.echo(_summary(base, new, len(files), len(conflicts), check=check))
    if conflicts or (check and files):
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


def _reject_unresolved(tree: "Tree", files: "list[UpdatedFile]") -> None:
    """Reject to merge into a file that has conflicts of an earlier update."""
    from steersman.errors import ConfigError

    for file in files:
        if "<<<<<<< yours\n" in (tree.read(file.name) or ""):
            raise ConfigError(
                f"{file.name} has conflicts of an earlier update: resolve them first; nothing was changed"
            )


def _summary(base: "Template", new: "Template", files: int, conflicts: int, *, check: bool) -> str:
    if not files:
        return f"The project is up to date with steersman {new.version}."
    what = f"{files} file{'s differ' if files > 1 else ' differs'} from" if check else "Updated from"
    end = f"; resolve {conflicts} conflict{'s' if conflicts > 1 else ''}" if conflicts and not check else ""
    return f"{what} steersman {base.version} to {new.version}{end}."
