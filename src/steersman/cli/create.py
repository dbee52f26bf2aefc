"""`steer create api`: a kind, its reconciler, a sample and tests, added to the project in this folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from steersman.scaffold.files import Addition
    from steersman.scaffold.project import Project
    from steersman.scaffold.tree import Tree


@click.group("create", short_help="Add a kind to the project.")
def command() -> None:
    """Add to the project in this folder.

    \b
    Example:
      $ steer create api --group zhhnzw --version v1 --kind CustomPod
    """


@command.command("api", short_help="Add a kind and its reconciler.")
@click.option("--group", metavar="GROUP", default="", help="API group; the domain is added unless it has a dot.")
@click.option("--version", metavar="VERSION", required=True, help="Such as v1 or v1alpha1.")
@click.option("--kind", metavar="KIND", required=True, help="In CamelCase.")
@click.option("--cluster-scoped", is_flag=True, help="Its objects lie in no namespace.")
@click.option("--resource/--no-resource", default=True, help="Write its classes; without: it is there, or built in.")
@click.option("--controller/--no-controller", default=True, help="Write its reconciler and tests.")
@click.option("--force", is_flag=True, help="Write files anew that are there.")
def api(  # noqa: PLR0913 - the options of the command, each by its name
    *, group: str, version: str, kind: str, cluster_scoped: bool, resource: bool, controller: bool, force: bool
) -> None:
    """Add a kind to the project: classes, a reconciler, a sample, tests, and their registration.

    Files that are there are kept, so it can be run again.

    \b
    Examples:
      $ steer create api --group zhhnzw --version v1 --kind CustomPod
      $ steer create api --group apps --version v1 --kind Deployment --no-resource
    """
    from steersman.scaffold.api import Api
    from steersman.scaffold.files import Addition, check_known
    from steersman.scaffold.project import project_in
    from steersman.scaffold.tree import Tree

    root = Path.cwd()
    project = project_in(root)
    if resource and "." not in group:
        group = f"{group}.{project.domain}" if group else project.domain
    wanted = Api(group=group, version=version, kind=kind, namespaced=not cluster_scoped)
    if not resource:
        check_known(wanted)
    _add(Tree(root), project, Addition(api=wanted, resource=resource, controller=controller), force=force)


def _add(tree: "Tree", project: "Project", addition: "Addition", *, force: bool) -> None:
    from dataclasses import replace

    files = addition.files(project)
    kept = [] if force else tree.existing(files)
    main_file = f"{project.package}/main.py"
    main = tree.read(main_file)
    if main is None:
        raise click.ClickException(f"{main_file} is missing: it is where kinds are registered")
    new_version = addition.controller and addition.resource and addition.is_further_version(kept)
    registering = replace(addition, controller=False) if new_version else addition
    files = {name: text for name, text in files.items() if name not in kept}
    files[main_file] = registering.registered(main, project)
    changed = tree.put(files)
    for name in changed:
        click.echo(f"wrote {name}")
    for name in kept:
        click.echo(f"kept {name}")
    if not kept and addition.controller:
        click.echo("Next: say what it does in the reconciler, and watch it with 'steer dev'")
    if new_version:
        click.echo("Next: say storage=True in the class of the version that is stored")
