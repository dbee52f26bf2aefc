import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from steersman.clock import RealClock
from steersman.errors import ConfigError
from steersman.serving.certificates import CertificateAuthority, KeyPair
from steersman.serving.tls import server_context
from steersman.testing.fake_clock import FakeClock


def test_a_serving_certificate_passes_a_strict_verifier_for_its_names_only() -> None:
    """Newer OpenSSL and Go reject what older ones accept; an independent verifier decides."""
    clock = FakeClock()
    authority = CertificateAuthority.create("authority", clock=clock)
    pair = authority.issue_server(["localhost", "127.0.0.1"])
    store = Store([x509.load_pem_x509_certificate(authority.certificate)])
    leaf = x509.load_pem_x509_certificate(pair.certificate)
    policy = PolicyBuilder().store(store).time(clock.now())
    chain = policy.build_server_verifier(x509.DNSName("localhost")).verify(leaf, [])
    assert len(chain) == 2
    with pytest.raises(x509.verification.VerificationError):
        policy.build_server_verifier(x509.DNSName("elsewhere")).verify(leaf, [])


def test_a_client_certificate_carries_user_and_groups() -> None:
    """Kubernetes reads them from there."""
    pair = CertificateAuthority.create("authority", clock=FakeClock()).issue_client("jane", ["a", "b"])
    subject = x509.load_pem_x509_certificate(pair.certificate).subject
    assert sorted(attribute.rfc4514_string() for attribute in subject) == ["CN=jane", "O=a", "O=b"]


def test_validity_follows_the_clock() -> None:
    """Rotation is tested by advancing a clock, not by waiting for a year."""
    start = datetime(2031, 5, 1, tzinfo=UTC)
    pair = CertificateAuthority.create("authority", clock=FakeClock(start)).issue_server(["x"], days=2)
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    assert certificate.not_valid_before_utc == start - timedelta(minutes=5)
    assert certificate.not_valid_after_utc == start + timedelta(days=2)


def test_a_ca_can_be_stored_and_loaded() -> None:
    """Replicas of one webhook share one CA."""
    kept = CertificateAuthority.create("authority", clock=RealClock()).key_pair()
    loaded = CertificateAuthority.load(kept, clock=RealClock())
    assert (loaded.certificate, loaded.key_pair()) == (kept.certificate, kept)


@pytest.mark.parametrize("what", ["garbage", "another key"])
def test_a_certificate_with_another_key_is_rejected(what: str) -> None:
    """A Secret that was edited by hand is detected when it is read, not at the first handshake."""
    one, other = (CertificateAuthority.create("authority", clock=RealClock()).key_pair() for _ in range(2))
    pair = KeyPair(one.certificate, b"garbage" if what == "garbage" else other.key)
    with pytest.raises(ConfigError, match="authority"):
        CertificateAuthority.load(pair, clock=RealClock())
    with pytest.raises(ConfigError, match="serving certificate"):
        server_context(certificate=pair.certificate, key=pair.key)


def test_a_key_pair_does_not_show_its_key() -> None:
    """Key pairs are passed around and printed."""
    pair = CertificateAuthority.create("authority", clock=RealClock()).key_pair()
    assert b"PRIVATE" in pair.key
    assert "PRIVATE" not in repr(pair)


def test_client_certificates_are_accepted_but_not_required() -> None:
    """Tokens and certificates are both accepted; the app decides."""
    authority = CertificateAuthority.create("authority", clock=RealClock())
    pair = authority.issue_server(["x"])
    context = server_context(certificate=pair.certificate, key=pair.key, client_ca=authority.certificate)
    assert (context.verify_mode, context.minimum_version) == (ssl.CERT_OPTIONAL, ssl.TLSVersion.TLSv1_2)
    assert server_context(certificate=pair.certificate, key=pair.key).verify_mode == ssl.CERT_NONE
