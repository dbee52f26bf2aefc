"""How other commands of this user find a running `steer dev`: a private file that names its kubeconfig.

The file belongs to the process of `steer dev`, not to that of the operator, so it is also there while the operator is
restarted. A `steer dev` that was killed leaves its file behind; the id of its process says that it is outdated.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from steersman.errors import ConfigError
from steersman.serving.private_socket import live_files, socket_directory

_SUFFIX = ".dev"


@contextmanager
def announced(kubeconfig: Path) -> Iterator[None]:
    """Announce a kubeconfig inside the block; without a private directory nothing is announced."""
    try:
        path = socket_directory() / f"{os.getpid()}{_SUFFIX}"
        path.write_text(str(kubeconfig))
    except (ConfigError, OSError):
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def announced_kubeconfigs() -> list[Path]:
    """Return the kubeconfig of every `steer dev` of this user that runs, the newest first."""
    found = []
    for path in live_files(_SUFFIX):
        with suppress(OSError):
            found.append(Path(path.read_text()))
    return [path for path in found if path.is_file()]


def dev_kubeconfig(kubeconfig: Path | None, context: str | None) -> Path | None:
    """Return the kubeconfig of the `steer dev` that runs, if the user names no other cluster; raise if several run."""
    if kubeconfig is not None or context is not None or os.environ.get("KUBECONFIG"):
        return None
    found = announced_kubeconfigs()
    if len(found) > 1:
        raise click.ClickException(
            f"several `steer dev` run: pass the --kubeconfig of one of them: {', '.join(map(str, found))}"
        )
    return found[0] if found else None
