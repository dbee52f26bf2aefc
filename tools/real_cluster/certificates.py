"""Certificates of a cluster: one authority, and a certificate for each program, valid for a few days."""

import datetime as dt
import ipaddress
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAYS: Final = 30


class Authority:
    """Issues certificates into a folder: `NAME.crt` and `NAME.key`, the authority's own as `ca`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = write_key(folder / "ca.key")
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "real-cluster")])
        unsigned = _builder(self._name, self._name, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self._write("ca", unsigned)

    def issue(self, name: str, user: str, group: str = "", hosts: Iterable[str] = ()) -> None:
        """Issue a certificate for a user of the API server, or for a server at some hosts, or for both."""
        subject = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        if group:
            subject.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
        unsigned = _builder(x509.Name(subject), self._name, write_key(self._folder / f"{name}.key")).add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        if names := [_alternative(host) for host in hosts]:
            unsigned = unsigned.add_extension(x509.SubjectAlternativeName(names), critical=False)
        self._write(name, unsigned)

    def _write(self, name: str, unsigned: x509.CertificateBuilder) -> None:
        signed = unsigned.sign(self._key, hashes.SHA256())
        (self._folder / f"{name}.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))


def write_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Create a private key that only its owner can read."""
    key = ec.generate_private_key(ec.SECP256R1())
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    return key


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=_DAYS))
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
