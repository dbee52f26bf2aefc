"""Consent to a force: once, to what a person saw, and not for long."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mgors.consent import Consent, InvalidConsent, read_consent

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def annotation(**changes: Any) -> str:
    """Return an annotation that counts, with changes."""
    expires = (NOW + timedelta(minutes=30)).isoformat()
    return json.dumps({"uid": "u", "expires": expires, "without": ["shop-1"], **changes})


def test_a_consent_names_what_is_given_up() -> None:
    """And until which term, if that was asked for."""
    found = read_consent(annotation(term=7), uid="u", now=NOW)
    assert isinstance(found, Consent)
    assert (found.without, found.term) == (frozenset({"shop-1"}), 7)
    assert read_consent(None, uid="u", now=NOW) is None


def test_two_consents_are_not_the_same() -> None:
    """One that was used does not stand in the way of the next."""
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
def test_an_annotation_that_does_not_count_says_why(text: str, problem: str) -> None:
    """It is written in a hurry."""
    found = read_consent(text, uid="u", now=NOW)
    assert isinstance(found, InvalidConsent)
    assert problem in found.problem
