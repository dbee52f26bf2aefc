"""TLS as this server uses it: TLS 1.2 and newer, HTTP/1.1, client certificates welcome but not demanded."""

import ssl

from steersman.errors import ConfigError
from steersman.private_file import private_file


def server_context(*, certificate: bytes, key: bytes, client_ca: bytes | None = None) -> ssl.SSLContext:
    """Return the context of a server from PEM bytes.

    With ``client_ca`` a client may present a certificate, which must then be signed by it; a client without one is let
    in, and the app decides what it may do.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, certificate, key)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        try:
            context.load_verify_locations(cadata=client_ca.decode("ascii", "replace"))
        except ssl.SSLError as error:
            raise _unusable(error) from None
    return context


def replace_certificate(context: ssl.SSLContext, *, certificate: bytes, key: bytes) -> None:
    """Make a context in use present another certificate from the next handshake on.

    Existing connections continue. A pair that cannot be used raises ``ConfigError``, and the former one stays.
    """
    server_context(certificate=certificate, key=key)
    _load(context, certificate, key)


def _load(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    try:
        with private_file(certificate) as certificate_path, private_file(key) as key_path:
            context.load_cert_chain(certificate_path, key_path, password=lambda: b"")
    except ssl.SSLError as error:
        raise _unusable(error) from None


def _unusable(error: ssl.SSLError) -> ConfigError:
    return ConfigError(f"the serving certificate cannot be used: {error.reason}")
