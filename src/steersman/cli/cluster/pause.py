"""`steer pause KIND/NAME` and `steer resume KIND/NAME`: leave an object alone for a while."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from steersman.cli.cluster.target import Access, cluster_options, run
from steersman.cli.parameters import parse_object

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")

#: A pause that is to be longer needs no end.
_LONGEST = timedelta(days=3650)


class _Duration(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases of click
    """A length of time, such as 2h30m."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Return a length of time, or fail with the reason."""
        found = _DURATION.fullmatch(str(value))
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0, 0)
        total = days * 86_400 + hours * 3_600 + minutes * 60 + seconds
        if not total:
            self.fail(f"{value!r} is not a length of time such as 30m, 2h or 1d12h", param, ctx)
        if total > _LONGEST.total_seconds():
            self.fail(f"{value!r} is longer than {_LONGEST.days}d: leave --for out to pause without an end", param, ctx)
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


@click.command("pause", short_help="Stop reconciling an object until it is resumed.")
@click.argument("target", metavar="KIND/NAME")
@click.option("--namespace", "-n", metavar="NAME", default="default", help="Namespace of the object; default: default.")
@click.option("--for", "length", type=_Duration(), help="End the pause after this time, such as 2h.")
@cluster_options
def command(  # noqa: PLR0913 - the options of the command, each by its name
    target: str,
    *,
    namespace: str,
    length: timedelta | None,
    kubeconfig: Path | None,
    context: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Stop reconciling an object until `steer resume`, or until a time has passed.

    The object gets an annotation and shows the condition Paused; `steer why` names it, too. Its cleanup still runs
    when it is deleted. The cluster is that of --kubeconfig, --context or $KUBECONFIG, that of a running `steer dev`, or
    that of ~/.kube/config.

    \b
    Examples:
      $ steer pause custompod/a --context my-cluster
      $ steer pause custompod/a --for 2h --yes
    """
    access = Access(kubeconfig=kubeconfig, context=context, yes=yes, dry_run=dry_run)
    run(annotate(target, namespace, access, paused=True, length=length))


async def annotate(
    target: str, namespace: str, access: Access, *, paused: bool, length: timedelta | None = None
) -> None:
    """Set or remove the annotation of an object."""
    from steersman.client.interfaces import Ref
    from steersman.clock import RealClock
    from steersman.controller.run.pause import PAUSED
    from steersman.objects.times import format_time
    from steersman.protocol.options import WriteOptions

    kind, name = parse_object(target)
    value: str | None = None
    if paused:
        value = "true" if length is None else format_time((RealClock().now() + length).replace(microsecond=0))
    access, where = _with_dev_cluster(access)
    async with access.connect(f"{'pause' if paused else 'resume'} {target}{where}", manager="steer") as client:
        resource = await client.discovery.find(kind)
        ref: Ref[Any] = Ref(resource.gvk, name, namespace if resource.namespaced else None)
        if not paused:
            found = await client.try_get_metadata(resource.gvk, name, ref.namespace)
            # An absent object is rejected by the patch, in the words of the server.
            if found is not None and PAUSED not in found.metadata.annotations:
                click.echo(f"{target} is not paused")
                return
        options = WriteOptions(field_manager="steer", dry_run=access.dry_run)
        await client.patch(ref, {"metadata": {"annotations": {PAUSED: value}}}, options=options)
    until = f" until {value}" if length is not None else ""
    click.echo(
        f"{target} {'is paused' + until if paused else 'is reconciled again'}{' (dry run)' if access.dry_run else ''}"
    )


def _with_dev_cluster(access: Access) -> tuple[Access, str]:
    """Return the access to the cluster of a running `steer dev`, if no other is named, and words for it.

    As `steer why` does: an author who looks at an object there pauses it there. No question is asked, because that
    cluster is the author's own; the line that is printed names it.
    """
    from steersman.cli.dev.announcement import dev_kubeconfig

    found = dev_kubeconfig(access.kubeconfig, access.context)
    if found is None:
        return access, ""
    return replace(access, kubeconfig=found, yes=True), " in the cluster of `steer dev`"
