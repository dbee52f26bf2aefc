"""When certificates are renewed: a pure rule, one step at a time.

An authority is announced before anything that it signed is served: first it stands beside its predecessor in the
bundle that the API server trusts, and only after the overlap does it sign. So every certificate that any replica serves
is trusted at any moment, however slowly replicas follow.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """How long things are good for. Whatever is past two thirds of its life is renewed."""

    authority: timedelta = timedelta(days=365)
    serving: timedelta = timedelta(days=90)
    #: How long a new authority is trusted before it signs: API servers need a moment to hear of it.
    overlap: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        if not timedelta() < self.overlap < self.serving < self.authority / 3:
            raise ValueError(f"need 0 < overlap < serving < authority / 3, got {self}")


@dataclass(frozen=True, slots=True)
class Span:
    """From when until when a certificate is valid."""

    begins: datetime
    ends: datetime

    def is_over(self, moment: datetime) -> bool:
        """Tell whether it ended. One that has not begun yet was made by a clock that is ahead: it will do."""
        return moment >= self.ends

    def is_old(self, moment: datetime) -> bool:
        """Tell whether two thirds of its life are over."""
        return moment >= self.ends - (self.ends - self.begins) / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the rule has to know about the certificates that there are."""

    signer: Span
    serving: Span
    #: Whether the serving certificate is for the right names and of the signer.
    serving_fits: bool = True
    successor: Span | None = None
    retired: Span | None = None


class Step(Enum):
    """What is to be done next."""

    #: Make an authority and a certificate: there are none, or none that can be used.
    BEGIN = auto()
    #: Make the next authority and let it be trusted.
    ANNOUNCE = auto()
    #: Let the next authority sign; the former is still trusted.
    PROMOTE = auto()
    #: Make a new serving certificate.
    ISSUE = auto()
    #: Trust the former authority no longer: it is over.
    FORGET = auto()
    #: Nothing.
    KEEP = auto()


def next_step(facts: Facts | None, now: datetime, lifetimes: Lifetimes) -> Step:
    """Say what is to be done now; ask again after doing it."""
    if facts is None or facts.signer.is_over(now):
        return Step.BEGIN
    if not facts.serving_fits or facts.serving.is_over(now):
        return Step.ISSUE
    if facts.successor is not None and now >= facts.successor.begins + lifetimes.overlap:
        return Step.PROMOTE
    if facts.successor is None and facts.signer.is_old(now):
        return Step.ANNOUNCE
    if facts.serving.is_old(now):
        return Step.ISSUE
    if facts.retired is not None and facts.retired.is_over(now):
        return Step.FORGET
    return Step.KEEP
