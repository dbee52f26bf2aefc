"""`Reference`: the name of an image in a registry, and the credentials that this machine keeps for it."""

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from steersman.errors import ConfigError
from steersman.transport.auth.secret import Secret
from steersman.transport.config import Anonymous, Authentication, Login

_REPOSITORY: Final = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(?::[0-9]{1,5})?|\[[0-9a-fA-F:]+\](?::[0-9]{1,5})?")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Reference:
    """``host/repository:tag``, or ``host/repository@sha256:…``; then the tag is a digest."""

    host: str
    repository: str
    tag: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a full reference; the registry must be named, since guessing one sends code to strangers."""
        host, slash, rest = text.partition("/")
        if not slash or not _HOST.fullmatch(host) or not (set(".:") & set(host) or host == "localhost"):
            raise ConfigError(f"{text!r} names no registry: write it as registry.example.com/name:tag")
        named, at, digest = rest.partition("@")
        repository, colon, tag = named.rpartition(":")
        if not colon:
            repository, tag = named, "latest"
        if not _REPOSITORY.fullmatch(repository) or not _TAG.fullmatch(tag) or (at and not _DIGEST.fullmatch(digest)):
            raise ConfigError(f"{text!r} is not an image name: write it as registry.example.com/name:tag")
        return cls(host, repository, digest or tag)

    def server(self, *, plain: bool) -> str:
        """Return the URL of the registry: without TLS only on this machine, or where the user allows it."""
        is_here = re.sub(r":[0-9]+$", "", self.host) in _LOOPBACK
        return f"{'http' if plain or is_here else 'https'}://{self.host}"

    def __str__(self) -> str:
        return f"{self.host}/{self.repository}{'@' if ':' in self.tag else ':'}{self.tag}"


def kept_login(host: str, path: Path) -> Authentication:
    """Read the login for a registry from a Docker configuration; programs that it names are not run."""
    try:
        found = json.loads(path.read_bytes())
        encoded = found.get("auths", {}).get(host, {}).get("auth", "")
        username, _, password = base64.b64decode(encoded).decode().partition(":")
    except FileNotFoundError:
        return Anonymous()
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be used: {type(error).__name__}") from None
    return Login(username, Secret(password)) if username else Anonymous()
