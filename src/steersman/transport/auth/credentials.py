"""The identity of this client: fixed, re-read from a file, or fetched, behind one small protocol.

Reading the current identity is synchronous and cheap, because every request does it. Only an identity that has to be
fetched first is awaited.
"""

import base64
import logging
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.transport.auth.secret import Secret
from steersman.transport.http.tls import ClientCertificate

_log = logging.getLogger(__name__)

#: Seconds after which a token file is read again, and how much sooner than that it may be: client-go's numbers.
_REREAD_AFTER = 60.0
_LEEWAY = 10.0


class Identity(Struct, frozen=True, eq=False):
    """What a request presents. Compared by identity: a fetched one is new even if it looks the same."""

    #: The value of the ``authorization`` header.
    authorization: Secret | None = None
    #: Takes the place of the configured client certificate.
    certificate: ClientCertificate | None = None


class Impersonation(Struct, frozen=True, kw_only=True):
    """The user to impersonate, for users who may."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.user and (self.uid or self.groups or self.extra):
            raise ConfigError("impersonating groups, a uid or extra fields needs a user to impersonate")

    def headers(self) -> list[tuple[str, str]]:
        """Return the impersonation headers."""
        headers = [("impersonate-user", self.user)] if self.user else []
        if self.uid:
            headers.append(("impersonate-uid", self.uid))
        headers += [("impersonate-group", group) for group in self.groups]
        headers += [
            (f"impersonate-extra-{_escape(key)}", value) for key, values in self.extra.items() for value in values
        ]
        return headers


def _escape(key: str) -> str:
    """Percent-encode characters that a header's name cannot contain."""
    return "".join(
        character if character.isascii() and (character.isalnum() or character in "-_.") else _percent(character)
        for character in key.lower()
    )


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


class Credentials(Protocol):
    """A source of the identity in force."""

    def current(self) -> Identity | None:
        """Return the identity in force, or ``None`` when it has to be fetched."""

    async def obtain(self) -> Identity:
        """Fetch an identity; concurrent callers share one fetch."""

    def reject(self, identity: Identity) -> bool:
        """Note that the server rejected this identity; return whether another one may be available."""


class StaticCredentials:
    """An identity that never changes; without one, only the client certificate of the configuration, if any."""

    def __init__(self, identity: Identity | None = None) -> None:
        self._identity = identity or Identity()

    def current(self) -> Identity:
        """Return it."""
        return self._identity

    async def obtain(self) -> Identity:
        """Return it."""
        return self._identity

    def reject(self, identity: Identity) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return False: there is no other identity."""
        return False


def bearer(token: Secret) -> Identity:
    """Return the identity of a bearer token."""
    return Identity(Secret(f"Bearer {token.reveal()}"))


def basic(username: str, password: Secret) -> Identity:
    """Return the identity of a user name and password."""
    login = base64.b64encode(f"{username}:{password.reveal()}".encode()).decode()
    return Identity(Secret(f"Basic {login}"))


class TokenFile:
    """A bearer token that something else keeps fresh in a file; while reading fails the last good one stays."""

    def __init__(self, path: Path, *, clock: Clock, initial: Secret | None = None) -> None:
        self._path = path
        self._clock = clock
        self._identity = bearer(initial) if initial else None
        self._token = initial
        self._read_again_at = clock.monotonic()

    def current(self) -> Identity | None:
        """Return the token's identity, read again about every minute."""
        if self._identity is None or self._clock.monotonic() >= self._read_again_at:
            self._read()
        return self._identity

    async def obtain(self) -> Identity:
        """Read the file now; raise ``ConfigError`` if it is invalid."""
        self._read()
        if self._identity is None:
            raise ConfigError(f"token file {self._path} is missing, unreadable or empty")
        return self._identity

    def reject(self, identity: Identity) -> bool:
        """Read now; the token may have been replaced since."""
        if self._identity is identity:
            self._read()
        return self._identity is not identity

    def _read(self) -> None:
        self._read_again_at = self._clock.monotonic() + _REREAD_AFTER - _LEEWAY
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            _log.warning("token file not readable", extra={"path": str(self._path), "error": type(error).__name__})
            return
        if token and (self._token is None or self._token != Secret(token)):
            self._token = Secret(token)
            self._identity = bearer(self._token)
