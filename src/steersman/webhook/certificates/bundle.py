"""`Material`: the authority and certificates of a webhook server, as values and as the data of a Secret.

It loads the cryptography library: import it where webhooks are served.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.serving.certificates import CertificateAuthority, KeyPair
from steersman.webhook.certificates.rotation import Facts, Lifetimes, Span, Step, next_step

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Material:
    """A serving certificate, the authority that signed it, and those before and after it."""

    signer: KeyPair
    serving: KeyPair
    #: The authority that will sign next; it is trusted already.
    successor: KeyPair | None = None
    #: The certificate of the authority that signed before; it is still trusted.
    retired: bytes = b""
    #: The names that the serving certificate is for.
    names: tuple[str, ...] = field(default=(), repr=False)

    @property
    def authority(self) -> bytes:
        """Every certificate that is to be trusted, the signer's first."""
        return self.signer.certificate + (self.successor.certificate if self.successor else b"") + self.retired

    def data(self) -> dict[str, bytes]:
        """Give the data of the Secret that all replicas share; ``tls.crt``, ``tls.key`` and ``ca.crt`` as usual."""
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
        """Read the data of a Secret; ``None`` when there is none, ``ConfigError`` when it is somebody else's."""
        if not data:
            return None
        try:
            signer = KeyPair(data["signer.crt"], data["signer.key"])
            serving = KeyPair(data["tls.crt"], data["tls.key"])
        except KeyError as error:
            raise ConfigError(f"it has no {error.args[0]}, so it was not made by this operator") from None
        successor = None
        if data.get("successor.crt"):
            successor = KeyPair(data["successor.crt"], data.get("successor.key", b""))
        return cls(signer, serving, successor, data.get("retired.crt", b""), _names(serving.certificate))


def advance(material: Material | None, names: Sequence[str], *, clock: Clock, lifetimes: Lifetimes) -> Material:
    """Do what is due now; the same material comes back when nothing is."""
    facts = None if material is None else _facts(material, names)
    match next_step(facts, clock.now(), lifetimes):
        case Step.KEEP:
            assert material is not None, "nothing cannot be kept"  # noqa: S101 - the rule says BEGIN then
            return material
        case Step.ANNOUNCE if material is not None:
            return replace(material, successor=_authority(names, clock, lifetimes))
        case Step.PROMOTE if material is not None and material.successor is not None:
            return _signed(material.successor, material.signer.certificate, names, clock, lifetimes)
        case Step.ISSUE if material is not None:
            signed = _signed(material.signer, material.retired, names, clock, lifetimes)
            return replace(signed, successor=material.successor)
        case Step.FORGET if material is not None:
            return replace(material, retired=b"")
        case _:
            return _signed(_authority(names, clock, lifetimes), b"", names, clock, lifetimes)


def _authority(names: Sequence[str], clock: Clock, lifetimes: Lifetimes) -> KeyPair:
    days = lifetimes.authority / _DAY
    return CertificateAuthority.create(f"webhooks of {names[0]}", clock=clock, days=days).key_pair()


def _signed(signer: KeyPair, retired: bytes, names: Sequence[str], clock: Clock, lifetimes: Lifetimes) -> Material:
    authority = CertificateAuthority.load(signer, clock=clock)
    # Nothing outlives who signed it.
    days = min(lifetimes.serving, span_of(signer.certificate).ends - clock.now()) / _DAY
    return Material(signer, authority.issue_server(names, days=days), None, retired, tuple(names))


def span_of(certificate: bytes) -> Span:
    """Give from when until when a certificate is valid."""
    found = _loaded(certificate)
    return Span(found.not_valid_before_utc, found.not_valid_after_utc)


def valid_until(bundle: bytes) -> datetime | None:
    """Give when the last certificate of a bundle ends; nothing if there is none that can be read."""
    try:
        return max(certificate.not_valid_after_utc for certificate in x509.load_pem_x509_certificates(bundle))
    except ValueError:
        return None


def _loaded(certificate: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(certificate)
    except ValueError:
        raise ConfigError("a certificate is no PEM certificate") from None


def _facts(material: Material, names: Sequence[str]) -> Facts | None:
    """Give what the rule must know; nothing when the authority cannot be used any more."""
    try:
        signer = span_of(material.signer.certificate)
        return Facts(
            signer=signer,
            serving=span_of(material.serving.certificate),
            serving_fits=set(names) <= set(material.names) and _is_signed(material),
            successor=span_of(material.successor.certificate) if material.successor else None,
            retired=span_of(material.retired) if material.retired else None,
        )
    except ConfigError:
        return None


def _is_signed(material: Material) -> bool:
    try:
        _loaded(material.serving.certificate).verify_directly_issued_by(_loaded(material.signer.certificate))
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _names(certificate: bytes) -> tuple[str, ...]:
    try:
        found = _loaded(certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ConfigError, x509.ExtensionNotFound):
        return ()
    return tuple(str(name.value) for name in found)
