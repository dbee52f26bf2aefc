"""Consent to one forced reconfiguration, by an annotation: pure functions.

A force can lose acknowledged writes, so it is allowed once, for a situation that a person has examined:

- ``uid`` binds it to this object: a copied or restored manifest contains no consent;
- ``without`` lists the pods that are given up: if any other member is missing too, nothing is forced;
- ``expires`` is at most an hour ahead: a forgotten annotation has no effect;
- ``term`` is only needed if a member knows a newer primary than the one whose data is kept.

One change of the configuration uses it up (`Situation.spent_at`).
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from steersman import Model
from steersman.errors import DecodeError
from steersman.objects import decode_as

FORCE = "mongo.example.com/force-reconfig"
LONGEST = timedelta(hours=1)


class ForceConsent(Model):
    """The content of the annotation."""

    uid: str
    expires: datetime
    without: list[str]
    term: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """A valid consent."""

    #: Identifies the annotation, to record that it was used.
    digest: str
    without: frozenset[str]
    #: Writes up to this term may be given up, if it is newer than that of the surviving data.
    term: int = -1


@dataclass(frozen=True, slots=True)
class InvalidConsent:
    """An annotation that is not a valid consent."""

    problem: str


def read_consent(text: str | None, *, uid: str, now: datetime) -> Consent | InvalidConsent | None:
    """Return the consent in an annotation, or why it is invalid; ``None`` if there is no annotation."""
    if text is None:
        return None
    try:
        found = decode_as(ForceConsent, text.encode())
    except DecodeError as error:
        return InvalidConsent(str(error))
    if found.expires.tzinfo is None:
        return InvalidConsent(f"expires: {found.expires.isoformat()} has no time zone")
    if found.uid != uid:
        return InvalidConsent(f"uid: {found.uid} is not the uid of this object, {uid}")
    if found.expires <= now:
        return InvalidConsent(f"expires: it expired at {found.expires.isoformat()}")
    if found.expires > now + LONGEST:
        return InvalidConsent(f"expires: {found.expires.isoformat()} is more than an hour ahead")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Consent(digest=digest, without=frozenset(found.without), term=-1 if found.term is None else found.term)
