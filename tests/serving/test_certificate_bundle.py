"""Certificates that are rotated, as values."""

from datetime import timedelta

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from steersman.serving import CertificateBundle, Lifetimes, advance_bundle
from steersman.testing import FakeClock

NAMES = ["shop.db.svc", "*.shop.db.svc"]


def _usages(certificate: bytes) -> set[x509.ObjectIdentifier]:
    found = x509.load_pem_x509_certificate(certificate).extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    return {*found.value}


def test_a_bundle_is_the_same_after_it_was_stored() -> None:
    """Another replica reads it from the Secret, and must not create a second one."""
    clock = FakeClock()
    bundle = advance_bundle(None, NAMES, clock=clock)
    assert CertificateBundle.of(bundle.data()) == bundle
    assert advance_bundle(bundle, NAMES, clock=clock) is bundle


def test_certificates_of_peers_are_valid_for_clients() -> None:
    """Servers that connect to each other show the same certificate on both sides."""
    server = advance_bundle(None, NAMES, clock=FakeClock())
    peer = advance_bundle(None, NAMES, clock=FakeClock(), is_peer=True)
    assert _usages(server.serving.certificate) == {ExtendedKeyUsageOID.SERVER_AUTH}
    assert _usages(peer.serving.certificate) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}


async def test_an_authority_is_replaced_on_request_without_a_moment_of_distrust() -> None:
    """A server that serves the certificate of one step has read the authorities of that step, too."""
    clock, lifetimes = FakeClock(), Lifetimes(overlap=timedelta(hours=1))
    first = advance_bundle(None, NAMES, clock=clock, lifetimes=lifetimes)
    announced = advance_bundle(first, NAMES, clock=clock, lifetimes=lifetimes, renew=True)
    assert announced.signer == first.signer
    assert announced.successor is not None
    assert announced.serving != first.serving
    assert advance_bundle(announced, NAMES, clock=clock, lifetimes=lifetimes) is announced
    await clock.advance(3600)
    promoted = advance_bundle(announced, NAMES, clock=clock, lifetimes=lifetimes)
    assert promoted.signer == announced.successor
    assert promoted.retired == first.signer.certificate
    for bundle in (announced, promoted):
        assert first.signer.certificate in bundle.authority
        assert announced.successor.certificate in bundle.authority
