"""A certificate authority for one server: serving and client certificates as PEM bytes, made in a millisecond.

P-256 keys throughout. Import it where certificates are made, not at the top: it loads the cryptography library.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Self

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from steersman.clock import Clock
from steersman.errors import ConfigError

#: A certificate is valid from a little before it is made: clocks of other machines may be behind.
_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class CertificateAuthority:
    """Signs certificates, which every client that trusts ``certificate`` trusts."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, *, clock: Clock) -> None:
        self._certificate = certificate
        self._key = key
        self._clock = clock

    def __repr__(self) -> str:
        return f"<CertificateAuthority {self._certificate.subject.rfc4514_string()}>"

    @classmethod
    def create(cls, name: str, *, clock: Clock, days: float = 3650) -> Self:
        """Create a new authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        builder = (
            _builder(subject, subject, key.public_key(), clock=clock, days=days)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(builder.sign(key, hashes.SHA256()), key, clock=clock)

    @classmethod
    def load(cls, pair: KeyPair, *, clock: Clock) -> Self:
        """Load an existing authority."""
        try:
            certificate = x509.load_pem_x509_certificate(pair.certificate)
            key = serialization.load_pem_private_key(pair.key, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise ConfigError("a certificate authority needs a PEM certificate and an unencrypted PEM key") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise ConfigError("the key of a certificate authority must be the elliptic-curve key of its certificate")
        return cls(certificate, key, clock=clock)

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, for clients that should trust it."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def key_pair(self) -> KeyPair:
        """Return the authority with its key, to be kept and loaded again."""
        return KeyPair(self.certificate, _key_bytes(self._key))

    def issue_server(self, names: Sequence[str], *, days: float = 365, is_peer: bool = False) -> KeyPair:
        """Create a serving certificate for DNS names and IP addresses; that of a peer is also valid for clients."""
        if not names:
            raise ValueError("a serving certificate needs at least one name")
        alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, *([ExtendedKeyUsageOID.CLIENT_AUTH] if is_peer else [])]
        return self._issue(_name(names[0]), usages, alternatives, days=days)

    def issue_client(self, user: str, groups: Sequence[str] = (), *, days: float = 365) -> KeyPair:
        """Create a client certificate; Kubernetes reads the user and the groups from its subject."""
        return self._issue(_name(user, groups), [ExtendedKeyUsageOID.CLIENT_AUTH], None, days=days)

    def _issue(
        self,
        subject: x509.Name,
        usages: Sequence[x509.ObjectIdentifier],
        alternatives: x509.SubjectAlternativeName | None,
        *,
        days: float,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, self._certificate.subject, key.public_key(), clock=self._clock, days=days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _key_bytes(key))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, clock: Clock, days: float
) -> x509.CertificateBuilder:
    now = clock.now()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _key_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
