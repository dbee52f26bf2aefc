"""`steer init NAME`: create a project for a new operator in the current folder."""

from pathlib import Path

import click


@click.command("init", short_help="Create a project for an operator in this folder.")
@click.argument("name")
@click.option("--domain", metavar="DOMAIN", default="example.com", show_default=True, help="Domain of the API groups.")
def command(name: str, domain: str) -> None:
    """Create a project for the operator NAME in this folder; existing files are never overwritten.

    \b
    Example:
      $ mkdir custompod && cd custompod
      $ steer init custompod --domain mock.com
      $ steer create api --group zhhnzw --version v1 --kind CustomPod
    """
    from steersman.scaffold.files import project_files
    from steersman.scaffold.project import Project
    from steersman.scaffold.template_record import RECORD, Template, record_of
    from steersman.scaffold.tree import Tree
    from steersman.version import __version__

    project = Project(name=name, domain=domain)
    files = project_files(project)
    files[RECORD] = record_of(Template(__version__, files))
    Tree(Path.cwd()).add(files)
    for file in files:
        click.echo(f"wrote {file}")
    click.echo("Next: steer create api --group GROUP --version v1 --kind KIND")
