"""Sources of the serving certificate: the operator's own CA, a Secret, or files.

A source is read periodically; its certificates may change at any time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from steersman.client.interfaces import Reader, ReaderWriter
from steersman.clock import Clock
from steersman.errors import AlreadyExists, ConfigError, Conflict
from steersman.kinds.core_v1 import Secret
from steersman.objects.meta import meta
from steersman.serving.certificate_bundle import CertificateBundle, advance_bundle
from steersman.serving.certificate_rotation import Lifetimes
from steersman.serving.certificates import KeyPair

#: Attempts of a renewal against other replicas before it is left to the next round.
_TRIES: Final = 5
#: Keys of a TLS Secret, as all tools name them.
_CERTIFICATE, _KEY, _AUTHORITY = "tls.crt", "tls.key", "ca.crt"


@dataclass(frozen=True, slots=True)
class ServingCertificates:
    """The serving certificate, and the CA bundle that callers must trust; empty if that is managed elsewhere."""

    serving: KeyPair
    authority: bytes = b""


class CertificateSource(Protocol):
    """Provide certificates."""

    async def current(self) -> ServingCertificates:
        """Return the certificates to serve now; raise ``ConfigError`` if there are none."""


class BundleStore(Protocol):
    """Store the bundle that the operator created."""

    async def read(self) -> CertificateBundle | None:
        """Return the stored bundle; ``None`` if there is none yet."""

    async def write(self, bundle: CertificateBundle) -> bool:
        """Replace the bundle that was read last; return false, and store nothing, if another writer was faster."""


class MemoryBundleStore:
    """Store the bundle in memory: enough where only this process serves."""

    def __init__(self) -> None:
        self._material: CertificateBundle | None = None

    async def read(self) -> CertificateBundle | None:
        """Return the stored bundle."""
        return self._material

    async def write(self, bundle: CertificateBundle) -> bool:
        """Store the bundle; there is no other writer."""
        self._material = bundle
        return True


class SecretBundleStore:
    """Store the bundle in a Secret that all replicas share."""

    def __init__(self, client: ReaderWriter, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._found: Secret | None = None

    async def read(self) -> CertificateBundle | None:
        """Return the bundle in the Secret."""
        self._found = await self._client.try_get(Secret, self._name, self._namespace)
        try:
            return CertificateBundle.of((self._found.data if self._found is not None else None) or {})
        except ConfigError as error:
            raise ConfigError(
                f"Secret {self._namespace}/{self._name} cannot be used for webhooks: {error}; delete it, or serve its "
                "certificate with --webhook-secret"
            ) from None

    async def write(self, bundle: CertificateBundle) -> bool:
        """Create the Secret, or update the one that was read."""
        try:
            if self._found is None:
                await self._client.create(Secret(meta(self._name, namespace=self._namespace), data=bundle.data()))
            else:
                self._found.data = bundle.data()
                await self._client.update(self._found)
        except (AlreadyExists, Conflict):
            return False
        return True


class OwnCertificates:
    """Certificates of the operator's own CA, renewed long before they expire."""

    def __init__(
        self, store: BundleStore, names: Sequence[str], *, clock: Clock, lifetimes: Lifetimes | None = None
    ) -> None:
        self._store = store
        self._names = tuple(names)
        self._clock = clock
        self._lifetimes = lifetimes if lifetimes is not None else Lifetimes()
        #: The bundle that was served last: if the store loses it, it is stored again instead of creating a new one.
        self._known: CertificateBundle | None = None

    def __repr__(self) -> str:
        return f"<OwnCertificates {self._names[0]}>"

    async def current(self) -> ServingCertificates:
        """Return the stored certificates after the rotation steps that are due; all replicas agree on them."""
        for _ in range(_TRIES):
            stored = await self._store.read()
            wanted = advance_bundle(stored or self._known, self._names, clock=self._clock, lifetimes=self._lifetimes)
            if wanted is stored or await self._store.write(wanted):
                self._known = wanted
                return ServingCertificates(wanted.serving, wanted.authority)
        raise ConfigError(f"another writer changed the certificates of {self._names[0]} {_TRIES} times meanwhile")


class SecretCertificates:
    """Certificates in a Secret that another tool manages: ``tls.crt``, ``tls.key`` and optionally ``ca.crt``."""

    def __init__(self, client: Reader, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    async def current(self) -> ServingCertificates:
        """Return the certificates in the Secret."""
        found = await self._client.try_get(Secret, self._name, self._namespace)
        where = f"Secret {self._namespace}/{self._name}"
        if found is None:
            raise ConfigError(f"{where} does not exist: the webhooks have no certificate")
        data = found.data or {}
        for name in (_CERTIFICATE, _KEY):
            if not data.get(name):
                raise ConfigError(f"{where} has no {name}: the webhooks have no certificate")
        return ServingCertificates(KeyPair(data[_CERTIFICATE], data[_KEY]), data.get(_AUTHORITY, b""))


class FileCertificates:
    """Certificates in a folder, such as a mounted Secret: ``tls.crt``, ``tls.key`` and optionally ``ca.crt``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def current(self) -> ServingCertificates:
        """Return the certificates in the files."""
        authority = self._folder / _AUTHORITY
        try:
            pair = KeyPair(_content(self._folder / _CERTIFICATE), _content(self._folder / _KEY))
            return ServingCertificates(pair, _content(authority) if authority.exists() else b"")
        except OSError as error:
            raise ConfigError(f"{error.filename}: {error.strerror}: the webhooks have no certificate") from None


def _content(path: Path) -> bytes:
    return path.read_bytes()
