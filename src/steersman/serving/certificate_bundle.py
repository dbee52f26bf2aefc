"""`CertificateBundle`: a CA and the serving certificate that it signed, as a value and as the data of a Secret.

It imports the cryptography library: import it only where certificates are made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.serving.certificate_rotation import CertificateFacts, Lifetimes, RotationStep, ValidityPeriod, next_step
from steersman.serving.certificates import CertificateAuthority, KeyPair

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CertificateBundle:
    """A serving certificate, the CA that signed it, and the CAs before and after that one.

    Store ``data()`` in a Secret, and advance it regularly (`advance_bundle`): both certificates are replaced long
    before they expire, and every certificate that is still served is trusted.
    """

    signer: KeyPair
    serving: KeyPair
    #: The CA that will sign next; it is trusted already.
    successor: KeyPair | None = None
    #: The certificate of the CA that signed before; it is still trusted.
    retired: bytes = b""
    #: Host names of the serving certificate.
    names: tuple[str, ...] = field(default=(), repr=False)

    @property
    def authority(self) -> bytes:
        """Every CA certificate to trust, the signer's first."""
        return self.signer.certificate + (self.successor.certificate if self.successor else b"") + self.retired

    def data(self) -> dict[str, bytes]:
        """Return the data of the Secret that all replicas share; ``tls.crt``, ``tls.key`` and ``ca.crt`` as usual."""
        found = {
            "tls.crt": self.serving.certificate,
            "tls.key": self.serving.key,
            "ca.crt": self.authority,
            "signer.crt": self.signer.certificate,
            "signer.key": self.signer.key,
            "retired.crt": self.retired,
        }
        if self.successor is not None:
            found |= {"successor.crt": self.successor.certificate, "successor.key": self.successor.key}
        return found

    @classmethod
    def of(cls, data: Mapping[str, bytes]) -> Self | None:
        """Parse the data of a Secret; return ``None`` if it is empty, raise ``ConfigError`` if we did not write it."""
        if not data:
            return None
        try:
            signer = KeyPair(data["signer.crt"], data["signer.key"])
            serving = KeyPair(data["tls.crt"], data["tls.key"])
        except KeyError as error:
            raise ConfigError(f"it has no {error.args[0]}, so it was not created by this operator") from None
        successor = None
        if data.get("successor.crt"):
            successor = KeyPair(data["successor.crt"], data.get("successor.key", b""))
        return cls(signer, serving, successor, data.get("retired.crt", b""), _names(serving.certificate))


def advance_bundle(
    bundle: CertificateBundle | None,
    names: Sequence[str],
    *,
    clock: Clock,
    lifetimes: Lifetimes | None = None,
    is_peer: bool = False,
    renew: bool = False,
) -> CertificateBundle:
    """Return the bundle after the next rotation step; the same object if nothing is due.

    ``is_peer`` makes the serving certificate valid for clients as well, for servers that connect to each other.
    ``renew`` begins to replace the CA although it is not old; pass it until the bundle has a successor. A CA is
    announced together with a new serving certificate: a server that serves it has read the CA, too.
    """
    issuer = _Issuer(tuple(names), clock, lifetimes or Lifetimes(), is_peer)
    facts = None if bundle is None else _facts(bundle, names, renew=renew)
    match next_step(facts, clock.now(), issuer.lifetimes):
        case RotationStep.KEEP:
            assert bundle is not None, "without a bundle the step is BEGIN"  # noqa: S101 - see next_step
            return bundle
        case RotationStep.ANNOUNCE if bundle is not None:
            return replace(issuer.signed(bundle.signer, bundle.retired), successor=issuer.authority())
        case RotationStep.PROMOTE if bundle is not None and bundle.successor is not None:
            return issuer.signed(bundle.successor, bundle.signer.certificate)
        case RotationStep.ISSUE if bundle is not None:
            return replace(issuer.signed(bundle.signer, bundle.retired), successor=bundle.successor)
        case RotationStep.FORGET if bundle is not None:
            return replace(bundle, retired=b"")
        case _:
            return issuer.signed(issuer.authority(), b"")


@dataclass(frozen=True, slots=True)
class _Issuer:
    """Creates authorities and serving certificates for some names."""

    names: tuple[str, ...]
    clock: Clock
    lifetimes: Lifetimes
    is_peer: bool

    def authority(self) -> KeyPair:
        """Create a CA."""
        days = self.lifetimes.authority / _DAY
        return CertificateAuthority.create(f"CA of {self.names[0]}", clock=self.clock, days=days).key_pair()

    def signed(self, signer: KeyPair, retired: bytes) -> CertificateBundle:
        """Create a serving certificate, which must not outlive the CA that signs it."""
        authority = CertificateAuthority.load(signer, clock=self.clock)
        days = min(self.lifetimes.serving, span_of(signer.certificate).ends - self.clock.now()) / _DAY
        serving = authority.issue_server(self.names, days=days, is_peer=self.is_peer)
        return CertificateBundle(signer, serving, None, retired, self.names)


def span_of(certificate: bytes) -> ValidityPeriod:
    """Return the validity period of a certificate."""
    found = _loaded(certificate)
    return ValidityPeriod(found.not_valid_before_utc, found.not_valid_after_utc)


def valid_until(bundle: bytes) -> datetime | None:
    """Return when the last certificate of a PEM bundle expires; ``None`` if none can be parsed."""
    try:
        return max(certificate.not_valid_after_utc for certificate in x509.load_pem_x509_certificates(bundle))
    except ValueError:
        return None


def _loaded(certificate: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(certificate)
    except ValueError:
        raise ConfigError("a certificate is not valid PEM") from None


def _facts(bundle: CertificateBundle, names: Sequence[str], *, renew: bool) -> CertificateFacts | None:
    """Return the facts that the rotation rule needs; ``None`` if the CA cannot be used any more."""
    try:
        signer = span_of(bundle.signer.certificate)
        return CertificateFacts(
            signer=signer,
            serving=span_of(bundle.serving.certificate),
            serving_fits=set(names) <= set(bundle.names) and _is_signed(bundle),
            successor=span_of(bundle.successor.certificate) if bundle.successor else None,
            retired=span_of(bundle.retired) if bundle.retired else None,
            renew=renew,
        )
    except ConfigError:
        return None


def _is_signed(bundle: CertificateBundle) -> bool:
    try:
        _loaded(bundle.serving.certificate).verify_directly_issued_by(_loaded(bundle.signer.certificate))
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _names(certificate: bytes) -> tuple[str, ...]:
    try:
        found = _loaded(certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ConfigError, x509.ExtensionNotFound):
        return ()
    return tuple(str(name.value) for name in found)
