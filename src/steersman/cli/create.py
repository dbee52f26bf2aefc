"""`steer create`: add a kind with its reconciler, or webhooks for a kind, to the project in this folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from steersman.scaffold.files import Addition
    from steersman.scaffold.project import Project
    from steersman.scaffold.tree import Tree


@click.group("create", short_help="Add a kind (CRD), a reconciler or webhooks to the project.")
def command() -> None:
    """Add a kind with its CRD and reconciler, or webhooks, to the project in this folder.

    \b
    Example:
      $ steer create api --group zhhnzw --version v1 --kind CustomPod
    """


@command.command("api", short_help="Add a kind, its CRD and its reconciler.")
@click.option("--group", metavar="GROUP", default="", help="API group; without a dot the project's domain is added.")
@click.option("--version", metavar="VERSION", required=True, help="API version, such as v1 or v1alpha1.")
@click.option("--kind", metavar="KIND", required=True, help="Kind, in CamelCase.")
@click.option("--cluster-scoped", is_flag=True, help="The objects have no namespace.")
@click.option(
    "--resource/--no-resource",
    default=True,
    help="Write the classes of the CRD; --no-resource for existing or built-in kinds.",
)
@click.option("--controller/--no-controller", default=True, help="Write a reconciler and its tests.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def api(  # noqa: PLR0913 - the options of the command, each by its name
    *, group: str, version: str, kind: str, cluster_scoped: bool, resource: bool, controller: bool, force: bool
) -> None:
    """Add a kind to the project: the classes that define its CRD, a reconciler, a sample, and tests.

    The reconciler is registered in main.py. Existing files are kept, so the command can be repeated.

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


@command.command("webhook", short_help="Add validating, defaulting or conversion webhooks.")
@click.option("--kind", metavar="KIND", required=True, help="Kind, in CamelCase.")
@click.option("--group", metavar="GROUP", default="", help="API group of a built-in kind.")
@click.option("--version", metavar="VERSION", default="", help="API version, if the kind has several or is built in.")
@click.option("--validate", is_flag=True, help="Add a function that validates objects.")
@click.option("--default", is_flag=True, help="Add a function that sets defaults.")
@click.option("--convert", is_flag=True, help="Add conversion between the versions of the kind.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def webhook(  # noqa: PLR0913 - the options of the command, each by its name
    *, kind: str, group: str, version: str, validate: bool, default: bool, convert: bool, force: bool
) -> None:
    """Add admission or conversion webhooks for a kind: typed Python functions and tests, registered in main.py.

    Existing files are kept, so the command can be repeated. A check that a CEL Rule in the class can express needs no
    webhook.

    \b
    Examples:
      $ steer create webhook --kind CustomPod --validate --default
      $ steer create webhook --kind Pod --validate
      $ steer create webhook --kind CustomPod --convert
    """
    from steersman.scaffold.project import project_in
    from steersman.scaffold.tree import Tree
    from steersman.scaffold.webhooks import WebhookRequest

    root = Path.cwd()
    project, tree = project_in(root), Tree(root)
    asked = WebhookRequest(kind=kind, group=group, version=version, validate=validate, default=default, convert=convert)
    addition = asked.found_in(tree, project)
    files = addition.files(project)
    kept = [] if force else tree.existing(files)
    main_file, main = _main_of(tree, project)
    _put(tree, {**files, main_file: addition.registered(main, project)}, kept)
    for name in files:
        if name not in kept and "/webhooks/" in name and not name.endswith("__init__.py"):
            click.echo(f"Next: write your rules into {name}, and run 'make test'")
        elif name not in kept and name.endswith("_versions.py") and "/api/" in name:
            click.echo(f"Next: list the renamed fields in {name}, or write functions there, and run 'make test'")


def _main_of(tree: "Tree", project: "Project") -> tuple[str, str]:
    main_file = f"{project.package}/main.py"
    main = tree.read(main_file)
    if main is None:
        raise click.ClickException(f"{main_file} is missing: kinds are registered there")
    return main_file, main


def _put(tree: "Tree", files: dict[str, str], kept: list[str]) -> None:
    """Write all files except those that are kept, and print the name of each."""
    for name in tree.put({name: text for name, text in files.items() if name not in kept}):
        click.echo(f"wrote {name}")
    for name in kept:
        click.echo(f"kept {name}")


def _reconciler_file(files: dict[str, str]) -> str:
    return next(name for name in files if "/reconcilers/" in name)


def _add(tree: "Tree", project: "Project", addition: "Addition", *, force: bool) -> None:
    from dataclasses import replace

    files = addition.files(project)
    kept = [] if force else tree.existing(files)
    main_file, main = _main_of(tree, project)
    new_version = addition.controller and addition.resource and addition.is_further_version(kept)
    registering = replace(addition, controller=False) if new_version else addition
    _put(tree, {**files, main_file: registering.registered(main, project)}, kept)
    if not kept and addition.controller:
        click.echo(f"Next: write the reconciler in {_reconciler_file(files)}, and run it with 'steer dev'")
    if new_version:
        kind = addition.api.kind
        click.echo(
            f"Next: pass storage=True to @custom_resource in one version, and run 'steer create webhook --kind {kind} "
            "--convert' if the versions differ"
        )
