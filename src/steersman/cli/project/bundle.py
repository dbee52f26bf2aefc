"""`steer bundle`: the operator as a bundle for the Operator Lifecycle Manager."""

from pathlib import Path

import click

from steersman.cli.target import image_option, operator_option


@click.command("bundle", short_help="Write a bundle for the Operator Lifecycle Manager.")
@operator_option
@image_option
@click.option("--out", type=click.Path(path_type=Path), default=Path("bundle"), show_default=True, help="Folder.")
@click.option("--check", is_flag=True, help="Write nothing; fail if the folder is out of date.")
def command(*, target: str | None, image: str, out: Path, check: bool) -> None:
    """Write an OLM bundle: a ClusterServiceVersion, the CRDs, and the samples as examples.

    \b
    Example:
      $ steer bundle --image registry.example.com/custompod:1.0
    """
    from steersman.cli.cluster.samples import sample_objects
    from steersman.cli.project.output import write_or_check
    from steersman.cli.target import declared
    from steersman.scaffold.manifests.bundle import bundle_files
    from steersman.scaffold.manifests.webhooks import admission_policies
    from steersman.scaffold.project import provider_of

    found = declared(target, image)
    samples = [obj.content for obj in sample_objects(Path("samples"))]
    files = bundle_files(
        found.operator, found.shape, version=found.version, samples=samples, provider=provider_of(Path.cwd())
    )
    write_or_check(out, files, check=check, command="steer bundle")
    if admission_policies(found.operator):
        # It would reject a bundle with an object of an unknown kind.
        click.echo("note: OLM does not install admission policies: apply admission-policies.yaml of steer manifests")
