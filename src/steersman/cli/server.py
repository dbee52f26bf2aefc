"""`steer server`: the embedded API server on a port, until Ctrl-C."""

import asyncio
import gc
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from steersman.apiserver.local import LocalOptions

#: Objects between collections: a server makes many short-lived ones and hardly any cycles.
_COLLECT_AFTER = (50_000, 20, 50)


class _Unusable(click.ClickException):
    """Something that the user named cannot be used: a busy port, a file that cannot be written."""

    exit_code = 2


@click.command("server", short_help="Run a Kubernetes API on this machine.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="a free one", help="Port to listen on.")
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("~/.kube/steersman"),
    show_default=True,
    help="File to write the admin's kubeconfig to.",
)
@click.option("--token", envvar="STEER_SERVER_TOKEN", help="The admin's bearer token; made up unless given.")
@click.option("--verbose", is_flag=True, help="Log every request.")
def command(port: int, kubeconfig: Path, token: str | None, *, verbose: bool) -> None:
    """Run a Kubernetes API for kubectl and any client, in memory, on this machine only.

    It is for development and tests: objects are gone when it ends, nothing runs pods, and every start has a new
    certificate authority and, unless one is given, a new token. Ctrl-C ends it.
    """
    gc.disable()  # until the server is up: all that is made now stays
    from steersman.apiserver.local import LocalOptions
    from steersman.apiserver.request_log import RequestLog
    from steersman.errors import ConfigError
    from steersman.manager.logs import configure_logging

    configure_logging(json=False)
    options = LocalOptions(port=port, token=token, before=RequestLog if verbose else None)
    path = kubeconfig.expanduser()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(options, path))
    except ConfigError as error:
        raise _Unusable(str(error)) from None
    except OSError as error:
        raise _Unusable(f"cannot write {path}: {os.strerror(error.errno) if error.errno else error}") from None


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return factory


async def _serve(options: "LocalOptions", path: Path) -> None:
    from steersman.apiserver.local import local_server
    from steersman.manager.signals import stop_on_signals

    async with stop_on_signals() as stop, local_server(options) as server:
        _write_private(path, server.access.kubeconfig())
        shown = shlex.quote(str(path))
        click.echo(f"Kubernetes API at {server.access.url} (for development and tests): export KUBECONFIG={shown}")
        sys.stdout.flush()
        gc.freeze()
        gc.set_threshold(*_COLLECT_AFTER)
        gc.enable()
        await stop.wait()


def _write_private(path: Path, content: bytes) -> None:
    """Put a whole file in place that nobody else can ever have read, not even while it was being written."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
