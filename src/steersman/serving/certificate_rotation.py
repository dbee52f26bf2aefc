"""When certificates are rotated: a pure rule, one step at a time.

A new CA is announced before it signs: it is added to the bundle that clients trust, and only after the overlap does it
sign serving certificates. So every certificate that any replica serves is trusted at any moment, however far replicas
and clients lag behind.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """Lifetimes of certificates. A certificate is renewed after two thirds of its lifetime."""

    authority: timedelta = timedelta(days=365)
    serving: timedelta = timedelta(days=90)
    #: How long a new CA is trusted before it signs: clients, such as API servers, need a moment to load it.
    overlap: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        if not timedelta() < self.overlap < self.serving < self.authority / 3:
            raise ValueError(f"need 0 < overlap < serving < authority / 3, got {self}")


@dataclass(frozen=True, slots=True)
class ValidityPeriod:
    """Validity period of a certificate."""

    begins: datetime
    ends: datetime

    def is_over(self, moment: datetime) -> bool:
        """Return whether the certificate has expired. One that is not valid yet comes from a clock that is ahead."""
        return moment >= self.ends

    def is_old(self, moment: datetime) -> bool:
        """Return whether two thirds of the lifetime have passed."""
        return moment >= self.ends - (self.ends - self.begins) / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFacts:
    """What the rule needs to know about the existing certificates."""

    signer: ValidityPeriod
    serving: ValidityPeriod
    #: Whether the serving certificate covers the right names and was signed by the signer.
    serving_fits: bool = True
    successor: ValidityPeriod | None = None
    retired: ValidityPeriod | None = None
    #: Whether the CA is to be replaced although it is not old.
    renew: bool = False


class RotationStep(Enum):
    """Next step of the rotation."""

    #: Create a CA and a serving certificate: there are none that can be used.
    BEGIN = auto()
    #: Create the next CA and add it to the trusted bundle.
    ANNOUNCE = auto()
    #: Sign with the next CA; the former one stays trusted.
    PROMOTE = auto()
    #: Issue a new serving certificate.
    ISSUE = auto()
    #: Remove the former CA from the trusted bundle: it has expired.
    FORGET = auto()
    #: Nothing to do.
    KEEP = auto()


def next_step(facts: CertificateFacts | None, now: datetime, lifetimes: Lifetimes) -> RotationStep:
    """Return the step that is due now; call again after doing it."""
    if facts is None or facts.signer.is_over(now):
        return RotationStep.BEGIN
    if not facts.serving_fits or facts.serving.is_over(now):
        return RotationStep.ISSUE
    if facts.successor is not None and now >= facts.successor.begins + lifetimes.overlap:
        return RotationStep.PROMOTE
    if facts.successor is None and (facts.renew or facts.signer.is_old(now)):
        return RotationStep.ANNOUNCE
    if facts.serving.is_old(now):
        return RotationStep.ISSUE
    if facts.retired is not None and facts.retired.is_over(now):
        return RotationStep.FORGET
    return RotationStep.KEEP
