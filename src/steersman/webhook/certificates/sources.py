"""Where the serving certificate comes from: of the operator's own making, from a Secret, or from files.

A source is asked again and again; what it gives may change at any time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.errors import AlreadyExists, ConfigError, Conflict
from steersman.kinds.core_v1 import Secret
from steersman.objects.meta import meta
from steersman.serving.certificates import KeyPair
from steersman.webhook.certificates.bundle import Material, advance
from steersman.webhook.certificates.rotation import Lifetimes

#: How often a renewal is tried against other replicas before it is left to the next round.
_TRIES: Final = 5
#: What a server needs, by the names that every tool uses.
_CERTIFICATE, _KEY, _AUTHORITY = "tls.crt", "tls.key", "ca.crt"


@dataclass(frozen=True, slots=True)
class Certificates:
    """What a server presents, and whom its callers must trust; empty when that is somebody else's affair."""

    serving: KeyPair
    authority: bytes = b""


class CertificateSource(Protocol):
    """Gives certificates."""

    async def current(self) -> Certificates:
        """Give what is to be served now; ``ConfigError`` says why there is nothing."""


class Store(Protocol):
    """Where the operator keeps what it made."""

    async def read(self) -> Material | None:
        """Give what is kept; nothing if there is nothing yet."""

    async def write(self, material: Material) -> bool:
        """Keep this in place of what was read last; false, and nothing is kept, if somebody else was faster."""


class MemoryStore:
    """Keeps material for as long as the process lives: enough where nobody else serves."""

    def __init__(self) -> None:
        self._material: Material | None = None

    async def read(self) -> Material | None:
        """Give what is kept."""
        return self._material

    async def write(self, material: Material) -> bool:
        """Keep it; nobody else can be faster."""
        self._material = material
        return True


class SecretStore:
    """Keeps material in a Secret that all replicas share."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._found: Secret | None = None

    async def read(self) -> Material | None:
        """Give what the Secret holds."""
        self._found = await self._client.try_get(Secret, self._name, self._namespace)
        try:
            return Material.of((self._found.data if self._found is not None else None) or {})
        except ConfigError as error:
            raise ConfigError(
                f"Secret {self._namespace}/{self._name} cannot be used for webhooks: {error}; delete it, or serve its "
                "certificate with --webhook-secret"
            ) from None

    async def write(self, material: Material) -> bool:
        """Create the Secret, or change the one that was read."""
        try:
            if self._found is None:
                await self._client.create(Secret(meta(self._name, namespace=self._namespace), data=material.data()))
            else:
                self._found.data = material.data()
                await self._client.update(self._found)
        except (AlreadyExists, Conflict):
            return False
        return True


class OwnCertificates:
    """Certificates of an authority of the operator's own, renewed long before they expire."""

    def __init__(self, store: Store, names: Sequence[str], *, clock: Clock, lifetimes: Lifetimes | None = None) -> None:
        self._store = store
        self._names = tuple(names)
        self._clock = clock
        self._lifetimes = lifetimes if lifetimes is not None else Lifetimes()
        #: What was served last: should the store lose it, it is kept again instead of being made anew.
        self._known: Material | None = None

    def __repr__(self) -> str:
        return f"<OwnCertificates {self._names[0]}>"

    async def current(self) -> Certificates:
        """Give what is kept, after doing what is due; replicas agree, whoever is faster."""
        for _ in range(_TRIES):
            kept = await self._store.read()
            wanted = advance(kept or self._known, self._names, clock=self._clock, lifetimes=self._lifetimes)
            if wanted is kept or await self._store.write(wanted):
                self._known = wanted
                return Certificates(wanted.serving, wanted.authority)
        raise ConfigError(f"the certificates of {self._names[0]} were changed {_TRIES} times by others meanwhile")


class SecretCertificates:
    """Certificates in a Secret that somebody else keeps: ``tls.crt``, ``tls.key`` and perhaps ``ca.crt``."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    async def current(self) -> Certificates:
        """Read the Secret."""
        found = await self._client.try_get(Secret, self._name, self._namespace)
        where = f"Secret {self._namespace}/{self._name}"
        if found is None:
            raise ConfigError(f"{where} is not there: the webhooks have no certificate")
        data = found.data or {}
        for name in (_CERTIFICATE, _KEY):
            if not data.get(name):
                raise ConfigError(f"{where} has no {name}: the webhooks have no certificate")
        return Certificates(KeyPair(data[_CERTIFICATE], data[_KEY]), data.get(_AUTHORITY, b""))


class FileCertificates:
    """Certificates in a folder: ``tls.crt``, ``tls.key`` and perhaps ``ca.crt``, as a mounted Secret has them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def current(self) -> Certificates:
        """Read the files."""
        authority = self._folder / _AUTHORITY
        try:
            pair = KeyPair(_content(self._folder / _CERTIFICATE), _content(self._folder / _KEY))
            return Certificates(pair, _content(authority) if authority.exists() else b"")
        except OSError as error:
            raise ConfigError(f"{error.filename}: {error.strerror}: the webhooks have no certificate") from None


def _content(path: Path) -> bytes:
    return path.read_bytes()
