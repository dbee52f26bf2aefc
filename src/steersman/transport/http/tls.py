"""TLS of this client: always verified unless disabled explicitly, with a warning.

A given CA is the only one trusted; otherwise those of the system. Keys given as text never become files that stay.
Certificates given as files are read again when they change.
"""

import logging
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from steersman.errors import ConfigError
from steersman.private_file import private_file
from steersman.transport.auth.secret import Secret

_log = logging.getLogger(__name__)


class ClientCertificate(Struct, frozen=True):
    """A certificate to present and its key: files, or PEM text."""

    certificate: Path | str
    key: Path | Secret


class TlsConfig(Struct, frozen=True, kw_only=True):
    """The trusted CA and the client certificate."""

    #: A file, or PEM text; ``None`` trusts the system's CAs.
    ca: Path | str | None = None
    client: ClientCertificate | None = None
    #: The name the server's certificate must carry, where it is not the host's.
    server_name: str | None = None
    insecure: bool = False

    def __post_init__(self) -> None:
        if self.insecure and self.ca is not None:
            raise ConfigError("a CA and skipping its verification exclude each other")


def build_context(config: TlsConfig, client: ClientCertificate | None = None) -> ssl.SSLContext:
    """Return the context of new connections; ``client`` replaces the configured certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif config.ca is None:
        context.load_default_certs()
    else:
        _load_ca(context, config.ca)
        # As in Go, everything in the CA's file is trusted by itself, even the server's own certificate.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    presented = client or config.client
    if presented is not None:
        _load_client(context, presented)
    return context


def _load_ca(context: ssl.SSLContext, ca: Path | str) -> None:
    try:
        context.load_verify_locations(cadata=_text(ca))
    except ssl.SSLError as error:
        raise ConfigError(f"certificate authority {_source(ca)}: no certificate in it: {error.reason}") from None


def _load_client(context: ssl.SSLContext, client: ClientCertificate) -> None:
    try:
        with ExitStack() as files:
            certificate = files.enter_context(_as_file(client.certificate))
            key = files.enter_context(_as_file(client.key))
            context.load_cert_chain(certificate, key, password=_refuse_password)
    except ssl.SSLError as error:
        sources = f"{_source(client.certificate)} and key {_source(client.key)}"
        raise ConfigError(f"client certificate {sources} cannot be used: {error.reason}") from None
    except OSError as error:
        raise ConfigError(f"client certificate {error.filename}: {error.strerror}") from None


def _refuse_password() -> NoReturn:
    """Fail instead of asking at the terminal, as OpenSSL would."""
    raise ConfigError("the client key is encrypted: keys with a password are not supported")


@contextmanager
def _as_file(source: Path | str | Secret) -> Iterator[str]:
    if isinstance(source, Path):
        yield str(source)
    else:
        text = source.reveal() if isinstance(source, Secret) else source
        with private_file(text.encode()) as path:
            yield path


def _text(source: Path | str) -> str:
    if isinstance(source, str):
        return source
    try:
        return source.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise ConfigError(f"certificate authority {source}: {error.strerror}") from None


def _source(source: Path | str | Secret) -> str:
    return str(source) if isinstance(source, Path) else "(inline)"


class TlsContexts:
    """The context of new connections, made again when a file or the presented certificate changes."""

    def __init__(self, config: TlsConfig, *, server: str) -> None:
        self._config = config
        self._seen: tuple[object, ...] = ()
        self._context: ssl.SSLContext | None = None
        if config.insecure:
            _log.warning(
                "INSECURE: certificates are not verified, anyone on the network can read and change everything",
                extra={"server": server},
            )

    @property
    def server_name(self) -> str | None:
        """The name to verify in place of the host's."""
        return self._config.server_name

    def is_stale(self, client: ClientCertificate | None = None) -> bool:
        """Return whether the next connection would use other certificates than the last one."""
        return self._signature(client) != self._seen

    def current(self, client: ClientCertificate | None = None) -> ssl.SSLContext:
        """Return the context for a new connection; files that became unreadable leave the last good one in use."""
        signature = self._signature(client)
        if self._context is not None and signature == self._seen:
            return self._context
        try:
            context = build_context(self._config, client)
        except ConfigError as error:
            if self._context is None:
                raise
            _log.warning("keeping the last certificates", extra={"reason": str(error)})
            return self._context
        self._seen, self._context = signature, context
        return context

    def _signature(self, client: ClientCertificate | None) -> tuple[object, ...]:
        presented = client or self._config.client
        sources = [self._config.ca] if presented is None else [self._config.ca, presented.certificate, presented.key]
        return (client, *(_stamp(source) for source in sources if isinstance(source, Path)))


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return (status.st_ino, status.st_mtime_ns, status.st_size)
