"""When certificates are renewed: the rule alone, without certificates."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.serving.certificate_rotation import CertificateFacts, Lifetimes, RotationStep, ValidityPeriod, next_step

START = datetime(2030, 1, 1, tzinfo=UTC)
LIFETIMES = Lifetimes()
DAY = timedelta(days=1)


def _span(begins: float, days: float) -> ValidityPeriod:
    return ValidityPeriod(START + begins * DAY, START + (begins + days) * DAY)


def _step(facts: CertificateFacts | None, day: float) -> RotationStep:
    return next_step(facts, START + day * DAY, LIFETIMES)


def test_missing_certificates_are_created_and_fresh_ones_kept() -> None:
    """The first start, and every later check."""
    assert _step(None, 0) is RotationStep.BEGIN
    assert _step(CertificateFacts(signer=_span(0, 365), serving=_span(0, 90)), 1) is RotationStep.KEEP


def test_a_serving_certificate_is_renewed_after_two_thirds_of_its_life() -> None:
    """A month of failing renewals must pass before a certificate expires."""
    facts = CertificateFacts(signer=_span(0, 365), serving=_span(0, 90))
    assert _step(facts, 59) is RotationStep.KEEP
    assert _step(facts, 60) is RotationStep.ISSUE


def test_a_serving_certificate_that_does_not_fit_is_renewed_at_once() -> None:
    """The Service was renamed, or the file was changed."""
    assert (
        _step(CertificateFacts(signer=_span(0, 365), serving=_span(0, 90), serving_fits=False), 1) is RotationStep.ISSUE
    )
    assert _step(CertificateFacts(signer=_span(0, 365), serving=_span(0, 2)), 3) is RotationStep.ISSUE


def test_an_old_ca_is_published_and_replaced_after_the_overlap() -> None:
    """The API server must trust the new one before anything that it signed is served."""
    old = CertificateFacts(signer=_span(0, 365), serving=_span(240, 90))
    assert _step(old, 243) is RotationStep.KEEP
    assert _step(old, 244) is RotationStep.ANNOUNCE
    announced = CertificateFacts(signer=_span(0, 365), serving=_span(240, 90), successor=_span(244, 365))
    assert _step(announced, 244 + 0.9 / 24) is RotationStep.KEEP
    assert _step(announced, 244 + 1 / 24) is RotationStep.PROMOTE


def test_during_the_overlap_an_old_certificate_is_still_renewed() -> None:
    """Publishing a new CA must not stop other renewals."""
    facts = CertificateFacts(signer=_span(0, 365), serving=_span(180, 90), successor=_span(244, 365))
    assert _step(facts, 244.01) is RotationStep.ISSUE


def test_a_retired_ca_is_trusted_until_it_expires() -> None:
    """Replicas may serve certificates that it signed, as long as these are valid."""
    facts = CertificateFacts(signer=_span(244, 365), serving=_span(300, 90), retired=_span(0, 340))
    assert _step(facts, 339) is RotationStep.KEEP
    assert _step(facts, 340) is RotationStep.FORGET


def test_an_expired_ca_has_no_overlap() -> None:
    """An operator that was stopped for a year starts over."""
    assert _step(CertificateFacts(signer=_span(0, 365), serving=_span(300, 65)), 365) is RotationStep.BEGIN


def test_certificates_from_a_clock_that_is_ahead_are_not_replaced() -> None:
    """Two replicas whose clocks differ must not alternately create CAs."""
    assert _step(CertificateFacts(signer=_span(0, 365), serving=_span(0, 90)), -0.1) is RotationStep.KEEP


def test_lifetimes_without_an_overlap_are_rejected() -> None:
    """A certificate that outlives the publication of its CA could not be replaced in time."""
    with pytest.raises(ValueError, match="serving < authority / 3"):
        Lifetimes(authority=90 * DAY, serving=60 * DAY)
    with pytest.raises(ValueError, match="0 < overlap"):
        Lifetimes(overlap=timedelta())
