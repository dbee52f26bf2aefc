"""Watching by a configuration file: ``KUBEWATCH_CONFIG=~/.kubewatch.yaml steer run``.

The file is applied as a Watcher, and again whenever it changes. So there is one way to watch, and one place to look for
what became of it: ``kubectl get watchers``.
"""

import asyncio
import logging
import os
from pathlib import Path

from steersman import Client
from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import Secret

from kubewatch.api.watcher_v1 import Watcher
from kubewatch.config import objects_of
from kubewatch.operator import operator

#: The name of the Watcher that comes from the file.
NAME = "config-file"
#: Seconds between looks at the file.
LOOK = 5.0

_log = logging.getLogger("kubewatch")

operator.permit(Watcher, "create", "patch")
operator.permit(Secret, "create", "patch")


def _read(path: str) -> str:
    return Path(path).expanduser().read_text(encoding="utf-8")


@operator.background
async def follow_config_file(client: Client, clock: Clock) -> None:
    """Keep the Watcher as the file says; a file that cannot be read changes nothing, and is told once."""
    path = os.environ.get("KUBEWATCH_CONFIG", "")
    namespace = os.environ.get("KUBEWATCH_NAMESPACE", "default")
    seen: str | None = None
    while path:
        try:
            text = await asyncio.to_thread(_read, path)
            if text != seen:
                seen = text
                for obj in objects_of(text, NAME, namespace):
                    await client.apply(obj, force=True)
                _log.info("the configuration is in force", extra={"file": path})
        except (OSError, ConfigError) as error:
            _log.error("the configuration is left as it was", extra={"file": path, "error": str(error)})
        await clock.sleep(LOOK)
    await asyncio.get_running_loop().create_future()
