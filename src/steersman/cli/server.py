"""`steer server`: the embedded API server on a port, until Ctrl-C."""

import asyncio
import contextlib
import gc
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.loop import loop_factory
from steersman.cli.parameters import PORT
from steersman.cli.webhooks import DeferredWebhookCalls, webhook_options

if TYPE_CHECKING:
    from steersman.apiserver.local import LocalOptions

#: Objects between garbage collections: a server creates many short-lived ones and hardly any cycles.
_COLLECT_AFTER = (50_000, 20, 50)


class _Unusable(click.ClickException):
    """Something that the user named cannot be used: a busy port, a file that cannot be written."""

    exit_code = 2


_DATA = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("server", short_help="Run a Kubernetes API on this machine.", invoke_without_command=True)
@click.option("--port", type=PORT, default=0, help="Port to listen on; default: a free one.")
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("~/.kube/steersman"),
    help="Kubeconfig to write; default: ~/.kube/steersman.",
)
@click.option(
    "--token", envvar="STEER_SERVER_TOKEN", metavar="TOKEN", help="Token of the admin; default: a random one."
)
@click.option("--data", type=_DATA, help="Directory that keeps the cluster's data.")
@click.option(
    "--no-controllers",
    is_flag=True,
    help="Do not run the controllers of the API's own objects (garbage collection, namespaces).",
)
@click.option("--audit", type=_FILE, help="Write an audit event for each request.")
@click.option(
    "--webhook",
    "webhooks",
    multiple=True,
    metavar="NS/NAME=HOST:PORT",
    help="Local address of a webhook Service; repeatable.",
)
@click.option("--remote-webhooks", is_flag=True, help="Call webhooks on other machines too.")
@click.option("--verbose", is_flag=True, help="Log every request.")
@click.pass_context
def command(  # noqa: PLR0913 - the options of the command, each by its name
    ctx: click.Context,
    *,
    port: int,
    kubeconfig: Path,
    token: str | None,
    data: Path | None,
    no_controllers: bool,
    audit: Path | None,
    webhooks: tuple[str, ...],
    remote_webhooks: bool,
    verbose: bool,
) -> None:
    """Run a Kubernetes API server for kubectl and any other client, on this machine only.

    It is for development and tests. It runs no pods: see 'steer dev'. Without --data the cluster is kept in memory: its
    objects and the kubeconfig are removed when the server stops, and each start creates a new certificate authority
    and, without --token, a new token. Ctrl-C stops the server.

    \b
    Example:
      $ steer server --data ~/.steersman
    """
    if ctx.invoked_subcommand is not None:
        return
    gc.disable()  # until the server is up: all that is made now stays
    from steersman.apiserver.http.request_log import RequestLog
    from steersman.apiserver.local import LocalOptions
    from steersman.errors import ConfigError
    from steersman.manager.process.logs import configure_logging

    configure_logging(json=False)
    calls = DeferredWebhookCalls()
    options = LocalOptions(
        port=port,
        token=token,
        controllers=not no_controllers,
        data=data,
        audit=audit,
        webhooks=webhook_options(calls, webhooks, remote=remote_webhooks),
        before=RequestLog if verbose else None,
    )
    path = kubeconfig.expanduser()
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(options, path, calls))
    except ConfigError as error:
        raise _Unusable(str(error)) from None
    except OSError as error:
        raise _Unusable(f"cannot write {path}: {os.strerror(error.errno) if error.errno else error}") from None


async def _serve(options: "LocalOptions", path: Path, calls: DeferredWebhookCalls) -> None:
    from steersman.apiserver.local import local_server
    from steersman.manager.process.signals import stop_on_signals

    async with stop_on_signals() as stop, local_server(options) as server:
        kubeconfig = server.access.kubeconfig()
        _write_private(path, kubeconfig)
        shown = shlex.quote(str(path))
        click.echo(f"Kubernetes API at {server.access.url} (for development and tests): export KUBECONFIG={shown}")
        sys.stdout.flush()
        gc.freeze()
        gc.set_threshold(*_COLLECT_AFTER)
        gc.enable()
        try:
            await stop.wait()
        finally:
            if options.data is None:
                _remove_own(path, kubeconfig)
            await calls.close()


@command.command("export", short_help="Write a stored cluster to a file.")
@click.argument("file", type=_FILE)
@click.option("--data", type=_DATA, required=True, help="Directory with the data of the cluster.")
def export_command(file: Path, data: Path) -> None:
    """Write the cluster in a directory to FILE as JSON lines; its server may be running. FILE contains its Secrets.

    \b
    Example:
      $ steer server export --data ~/.steersman cluster.jsonl
    """
    from steersman.apiserver.journal.directory import DataDirectory
    from steersman.apiserver.journal.transfer import exported
    from steersman.errors import ConfigError

    try:
        count, content = exported(DataDirectory(data))
        _write_private(file, content)
    except ConfigError as error:
        raise _Unusable(str(error)) from None
    except OSError as error:
        raise _Unusable(f"cannot write {file}: {os.strerror(error.errno) if error.errno else error}") from None
    click.echo(f"{count} objects written to {file}")


@command.command("import", short_help="Read a cluster from a file.")
@click.argument("file", type=_FILE)
@click.option("--data", type=_DATA, required=True, help="Directory for the data; it must not contain a cluster.")
def import_command(file: Path, data: Path) -> None:
    """Import a cluster from FILE, written by `steer server export`, into a directory for `steer server --data`.

    \b
    Example:
      $ steer server import --data ~/.steersman cluster.jsonl
    """
    from steersman.apiserver.journal.directory import DataDirectory
    from steersman.apiserver.journal.transfer import import_cluster
    from steersman.errors import ConfigError

    try:
        count = import_cluster(DataDirectory(data), file)
    except ConfigError as error:
        raise _Unusable(str(error)) from None
    click.echo(f"{count} objects read into {data}")


def _remove_own(path: Path, content: bytes) -> None:
    """Remove a file unless it was changed since: another server may have written its own kubeconfig there."""
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            path.unlink()


def _write_private(path: Path, content: bytes) -> None:
    """Write a whole file that no other user can ever have read, not even while it was being written."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
