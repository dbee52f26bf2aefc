"""`steer init NAME`: a project for a new operator, in the current folder."""

from pathlib import Path

import click


@click.command("init", short_help="Begin a project in this folder.")
@click.argument("name")
@click.option(
    "--domain", metavar="DOMAIN", default="example.com", show_default=True, help="Domain that the API groups end in."
)
def command(name: str, domain: str) -> None:
    """Begin the project of an operator called NAME in this folder; no file that is there is touched.

    \b
    Example:
      $ mkdir custompod && cd custompod
      $ steer init custompod --domain mock.com
      $ steer create api --group zhhnzw --version v1 --kind CustomPod
    """
    from steersman.scaffold.files import project_files
    from steersman.scaffold.project import Project
    from steersman.scaffold.tree import Tree

    project = Project(name=name, domain=domain)
    files = project_files(project)
    Tree(Path.cwd()).add(files)
    for file in files:
        click.echo(f"wrote {file}")
    click.echo("Next: steer create api --group GROUP --version v1 --kind KIND")
