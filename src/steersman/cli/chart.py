"""`steer chart`: the operator as a Helm chart."""

from pathlib import Path

import click

from steersman.cli.target import image_option, operator_option


@click.command("chart", short_help="Write a Helm chart.")
@operator_option
@image_option
@click.option("--out", type=click.Path(path_type=Path), default=Path("chart"), show_default=True, help="Folder.")
@click.option("--check", is_flag=True, help="Write nothing; fail if the folder is out of date.")
def command(*, target: str | None, image: str, out: Path, check: bool) -> None:
    """Write the operator as a Helm chart: CRDs, RBAC roles, webhooks and the Deployment, with values.

    \b
    Example:
      $ steer chart
      $ helm install custompod ./chart -n custompod-system --create-namespace
    """
    from steersman.cli.output import write_or_check
    from steersman.cli.target import declared
    from steersman.scaffold.manifests.chart import chart_files

    found = declared(target, image)
    files = chart_files(found.operator, found.shape, version=found.version)
    write_or_check(out, files, check=check, command="steer chart")
