"""Watch resources of a configuration file: ``KUBEWATCH_CONFIG=~/.kubewatch.yaml steer run``.

The file is applied as a Watcher, and again whenever it changes, so ``kubectl get watchers`` shows its state like that
of any other Watcher.
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

#: Name of the Watcher of the file.
NAME = "config-file"
#: Seconds between two checks of the file.
CHECK_EVERY = 5.0

_log = logging.getLogger("kubewatch")

operator.permit(Watcher, "create", "patch")
operator.permit(Secret, "create", "patch")


def _read(path: str) -> str:
    return Path(path).expanduser().read_text(encoding="utf-8")


@operator.background
async def follow_config_file(client: Client, clock: Clock) -> None:
    """Apply the file as a Watcher whenever it changes; log an error if it is invalid, and keep the Watcher."""
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
                _log.info("the configuration was applied", extra={"file": path})
        except (OSError, ConfigError) as error:
            _log.error("invalid configuration", extra={"file": path, "error": str(error)})
        await clock.sleep(CHECK_EVERY)
    await asyncio.get_running_loop().create_future()
