"""Where a server or a proxy is: a URL taken apart and checked once."""

from urllib.parse import unquote, urlsplit

from msgspec import Struct

from steersman.errors import ConfigError
from steersman.transport.auth.secret import Secret

_PORTS = {"http": 80, "https": 443}


class Endpoint(Struct, frozen=True):
    """Scheme, host, port and path of an API server."""

    is_tls: bool
    host: str
    port: int
    #: Without a slash at the end; empty for most servers.
    path: str = ""

    @classmethod
    def parse(cls, url: str) -> "Endpoint":
        """Parse an ``http`` or ``https`` URL; a bare ``host:port`` means ``https``."""
        url = url if "://" in url else f"https://{url}"
        scheme, host, port, _ = _split(url)
        parts = urlsplit(url)
        if parts.query or parts.fragment or parts.username is not None:
            raise ConfigError(f"a server's URL has no user, query or fragment: {_shown(url)}")
        return cls(is_tls=scheme == "https", host=host, port=port, path=parts.path.rstrip("/"))

    @property
    def authority(self) -> str:
        """Host and port, as a ``CONNECT`` names them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def host_header(self) -> str:
        """The value of the ``host`` header: without the port where it is the usual one."""
        usual = self.port == _PORTS["https" if self.is_tls else "http"]
        return self.authority.rpartition(":")[0] if usual else self.authority

    def __str__(self) -> str:
        return f"{'https' if self.is_tls else 'http'}://{self.host_header}{self.path}"


class Proxy(Struct, frozen=True):
    """An HTTP proxy that is asked to ``CONNECT``."""

    endpoint: Endpoint
    #: ``user:password``, if the proxy's URL has them.
    login: Secret | None = None

    @classmethod
    def parse(cls, url: str) -> "Proxy":
        """Parse an ``http`` or ``https`` URL; a bare ``host:port`` means ``http``."""
        url = url if "://" in url else f"http://{url}"
        scheme, host, port, login = _split(url)
        return cls(Endpoint(is_tls=scheme == "https", host=host, port=port), login)


def _split(url: str) -> tuple[str, str, int, Secret | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigError(f"{_shown(url)} is not a URL") from None
    if parts.scheme not in _PORTS:
        raise ConfigError(f"{_shown(url)} is not an http or https URL")
    if not parts.hostname:
        raise ConfigError(f"the URL {_shown(url)} has no host")
    login = None
    if parts.username is not None:
        login = Secret(f"{unquote(parts.username)}:{unquote(parts.password or '')}")
    return parts.scheme, parts.hostname, port if port is not None else _PORTS[parts.scheme], login


def _shown(url: str) -> str:
    """Return a URL for a message without what may be secret: a password before the @, a token in the query."""
    scheme, _, rest = url.rpartition("://")
    place = rest.rpartition("@")[2]
    return repr(f"{scheme}://{place.partition('?')[0]}{'?…' if '?' in place else ''}")
