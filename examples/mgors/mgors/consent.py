"""Consent to one forced reconfiguration: an annotation that names the object, the members given up, and its end. Pure.

A force can lose acknowledged writes, so it is allowed once, for a situation that a person has seen:

- ``uid`` binds it to this object: a manifest that is copied or restored carries no consent;
- ``without`` lists the pods that are given up: if any other member is missing by then, nothing is forced;
- ``expires`` is at most an hour ahead: an annotation that was forgotten is worth nothing;
- ``term`` is only needed if a member has heard of a newer primary than the one whose data goes on.

It is spent by the change of the configuration that it was used for (`Situation.spent_at`).
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
    """There is an annotation that does not count."""

    problem: str


def read_consent(text: str | None, *, uid: str, now: datetime) -> Consent | InvalidConsent | None:
    """Return the consent in an annotation, or why it does not count; ``None`` if there is no annotation."""
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
        return InvalidConsent(f"expires: it ended at {found.expires.isoformat()}")
    if found.expires > now + LONGEST:
        return InvalidConsent(f"expires: {found.expires.isoformat()} is more than an hour ahead")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Consent(digest=digest, without=frozenset(found.without), term=-1 if found.term is None else found.term)
