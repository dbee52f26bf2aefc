"""`steer resume KIND/NAME`: reconcile a paused object again."""

from pathlib import Path

import click

from steersman.cli.cluster.pause import annotate
from steersman.cli.cluster.target import Access, cluster_options, run


@click.command("resume", short_help="Reconcile a paused object again.")
@click.argument("target", metavar="KIND/NAME")
@click.option("--namespace", "-n", metavar="NAME", default="default", help="Namespace of the object; default: default.")
@cluster_options
def command(
    target: str, *, namespace: str, kubeconfig: Path | None, context: str | None, yes: bool, dry_run: bool
) -> None:
    """Resume an object that was paused by `steer pause` or by its annotation.

    The cluster is found as by `steer pause`.

    \b
    Example:
      $ steer resume custompod/a --context my-cluster
    """
    access = Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)
    run(annotate(target, namespace, access, paused=False))
