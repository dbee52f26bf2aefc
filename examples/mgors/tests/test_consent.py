"""Consent to a force: once, for a situation that a person has examined, and for a limited time."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mgors.consent import Consent, InvalidConsent, read_consent

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def annotation(**changes: Any) -> str:
    """Return a valid annotation with changes."""
    expires = (NOW + timedelta(minutes=30)).isoformat()
    return json.dumps({"uid": "u", "expires": expires, "without": ["shop-1"], **changes})


def test_a_consent_names_the_members_that_are_given_up() -> None:
    """And the term, if one is given."""
    found = read_consent(annotation(term=7), uid="u", now=NOW)
    assert isinstance(found, Consent)
    assert (found.without, found.term) == (frozenset({"shop-1"}), 7)
    assert read_consent(None, uid="u", now=NOW) is None


def test_two_consents_have_different_digests() -> None:
    """A used consent must not block the next one."""
    first = read_consent(annotation(), uid="u", now=NOW)
    second = read_consent(annotation(expires=(NOW + timedelta(minutes=31)).isoformat()), uid="u", now=NOW)
    assert isinstance(first, Consent)
    assert isinstance(second, Consent)
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (annotation(uid="of another"), "uid: of another is not the uid of this object, u"),
        (annotation(expires="2026-01-01T11:59:59Z"), "it expired at"),
        (annotation(expires="2026-01-02T00:00:00Z"), "more than an hour ahead"),
        (annotation(expires="2026-01-01T12:30:00"), "no time zone"),
        ("true", "not a ForceConsent"),
        ('{"uid": "u"}', "missing required field"),
    ],
)
def test_an_invalid_annotation_has_a_problem(text: str, problem: str) -> None:
    """It is written in a hurry, so the message must name the mistake."""
    found = read_consent(text, uid="u", now=NOW)
    assert isinstance(found, InvalidConsent)
    assert problem in found.problem
