"""Credentials from a program that a kubeconfig names (``client.authentication.k8s.io`` v1 and v1beta1).

The program is started directly, never through a shell, never from the current directory, and for a limited time; its
output is used and never shown.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from steersman.clock import Clock
from steersman.concurrency import cleanup
from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.transport.auth.credentials import Identity
from steersman.transport.auth.exec_plugin import ExecPlugin
from steersman.transport.auth.secret import Secret
from steersman.transport.http.tls import ClientCertificate

#: Seconds that a plugin may take.
TIMEOUT: Final = 60.0
_LONGEST_OUTPUT: Final = 1024 * 1024
#: Fetched again this much before it expires, so that a request under way does not find it expired.
_BEFORE_EXPIRY: Final = timedelta(seconds=10)


def find_program(plugin: ExecPlugin) -> str:
    """Return the absolute path of the program; raise ``ConfigError`` if it cannot be run."""
    path = plugin.command if os.path.isabs(plugin.command) else shutil.which(plugin.command)  # noqa: PTH117 - text in, text out
    if path is None or not os.access(path, os.X_OK):
        hint = f": {plugin.install_hint}" if plugin.install_hint else ""
        raise ConfigError(f"{plugin.origin}: command {plugin.command!r} is not installed{hint}")
    if not Path(path).is_absolute():
        raise ConfigError(f"{plugin.origin}: command {plugin.command!r} was found in the current directory; not run")
    if not plugin.policy.permits(plugin.command, path):
        raise ConfigError(f"{plugin.origin}: the plugin policy does not allow {plugin.command!r}")
    return path


def environment(plugin: ExecPlugin, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the program's environment."""
    spec: JsonObject = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = dict(plugin.cluster)
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return {
        **inherited,
        **{name: value.reveal() for name, value in plugin.env.items()},
        "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode(),
    }


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None

    def __repr__(self) -> str:
        return "<credentials of a plugin>"


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status


@dataclass(frozen=True, slots=True)
class Issued:
    """What a plugin gave, and until when it holds."""

    identity: Identity
    expires: datetime | None


def read_output(plugin: ExecPlugin, output: bytes) -> Issued:
    """Parse a plugin's output into an identity; messages never quote it."""
    try:
        credential = msgspec.json.decode(output, type=_ExecCredential)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ConfigError(f"{plugin.origin}: {plugin.command} did not print an ExecCredential with a status") from None
    if (credential.kind, credential.api_version) != ("ExecCredential", plugin.api_version):
        raise ConfigError(f"{plugin.origin}: {plugin.command} did not print an ExecCredential {plugin.api_version}")
    status = credential.status
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise ConfigError(f"{plugin.origin}: {plugin.command} gave only one half of a client certificate")
    if not status.token and not status.client_key_data:
        raise ConfigError(f"{plugin.origin}: {plugin.command} gave neither a token nor a client certificate")
    if status.expiration_timestamp is not None and status.expiration_timestamp.tzinfo is None:
        raise ConfigError(f"{plugin.origin}: {plugin.command} gave an expirationTimestamp without a time zone")
    return Issued(_identity(status), status.expiration_timestamp)


def _identity(status: _Status) -> Identity:
    return Identity(
        Secret(f"Bearer {status.token}") if status.token else None,
        ClientCertificate(status.client_certificate_data, Secret(status.client_key_data))
        if status.client_key_data
        else None,
    )


class ExecCredentials:
    """Runs a plugin when its identity is first needed, about to expire or rejected; once for all waiting callers."""

    def __init__(self, plugin: ExecPlugin, *, clock: Clock) -> None:
        self._plugin = plugin
        self._clock = clock
        self._issued: Issued | None = None
        self._running = asyncio.Lock()
        #: Runs finished so far, and how the last one failed: waiting callers share its outcome.
        self._runs = 0
        self._failure: ConfigError | None = None

    def current(self) -> Identity | None:
        """Return the last identity while it holds."""
        issued = self._issued
        if issued is None:
            return None
        if issued.expires is not None and self._clock.now() >= issued.expires - _BEFORE_EXPIRY:
            return None
        return issued.identity

    async def obtain(self) -> Identity:
        """Run the plugin, or wait for the run under way."""
        seen = self._runs
        async with self._running:
            identity = self.current()
            if identity is not None:
                return identity
            if self._runs > seen and self._failure is not None:
                raise self._failure
            try:
                self._issued = read_output(self._plugin, await self._run())
                self._failure = None
            except ConfigError as error:
                self._failure = error
                raise
            finally:
                self._runs += 1
            return self._issued.identity

    def reject(self, identity: Identity) -> bool:
        """Forget a rejected identity, so that the next request runs the plugin again."""
        if self._issued is not None and self._issued.identity is identity:
            self._issued = None
        return True

    async def _run(self) -> bytes:
        plugin = self._plugin
        path = find_program(plugin)
        try:
            process = await asyncio.create_subprocess_exec(
                path,
                *plugin.args,
                env=environment(plugin, os.environ),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise ConfigError(f"{plugin.origin}: {plugin.command} cannot be started: {error.strerror}") from None
        try:
            async with self._clock.timeout(TIMEOUT):
                output = await self._read(process)
                code = await process.wait()
        except TimeoutError:
            raise ConfigError(f"{plugin.origin}: {plugin.command} did not finish within {TIMEOUT:g} s") from None
        finally:
            await self._end(process)
        if code != 0:
            raise ConfigError(f"{plugin.origin}: {plugin.command} failed ({code}); run it by hand to see why")
        return output

    async def _read(self, process: asyncio.subprocess.Process) -> bytes:
        assert process.stdout is not None  # noqa: S101 - asked for above
        output = bytearray()
        while chunk := await process.stdout.read(65536):
            output += chunk
            if len(output) > _LONGEST_OUTPUT:
                raise ConfigError(f"{self._plugin.origin}: {self._plugin.command} printed too much")
        return bytes(output)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """End the process and the helpers it started."""
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await cleanup(process.wait(), clock=self._clock, within=5.0)
