"""Certificates as values, and their stores: two years with a fake clock, checked by an independent verifier."""

import asyncio
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from steersman import meta
from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import Secret
from steersman.serving.certificate_bundle import CertificateBundle
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.webhook.certificates.sources import (
    FileCertificates,
    MemoryBundleStore,
    OwnCertificates,
    SecretBundleStore,
    SecretCertificates,
    ServingCertificates,
)

NAME = "hooks.quota-system.svc"
DAY = 24 * 3600.0


def _is_trusted(serving: bytes, authority: bytes, clock: Clock) -> bool:
    policy = PolicyBuilder().store(Store(x509.load_pem_x509_certificates(authority))).time(clock.now())
    leaf = x509.load_pem_x509_certificate(serving)
    try:
        policy.build_server_verifier(x509.DNSName(NAME)).verify(leaf, [])
    except x509.verification.VerificationError:
        return False
    return True


async def test_two_years_pass_and_no_certificate_is_ever_untrusted(fake_clock: FakeClock) -> None:
    """A slow replica serves yesterday's certificate, a slow API server trusts yesterday's bundle: both must work."""
    source = OwnCertificates(MemoryBundleStore(), [NAME], clock=fake_clock)
    last = await source.current()
    signers = {last.authority}
    for _ in range(2 * 365 // 5):
        await fake_clock.advance(5 * DAY)
        now = await source.current()
        for serving, authority in ((now, now), (last, now), (now, last)):
            assert _is_trusted(serving.serving.certificate, authority.authority, fake_clock)
        signers.add(now.authority)
        last = now
    # Over two years: published, used, dropped, each several times.
    assert len(signers) >= 5


async def test_a_serving_certificate_has_the_required_names(fake_clock: FakeClock) -> None:
    """A Service that was renamed needs another certificate, of the same CA."""
    store = MemoryBundleStore()
    before = await OwnCertificates(store, ["elsewhere.svc"], clock=fake_clock).current()
    after = await OwnCertificates(store, [NAME], clock=fake_clock).current()
    assert not _is_trusted(before.serving.certificate, before.authority, fake_clock)
    assert _is_trusted(after.serving.certificate, before.authority, fake_clock)


async def test_certificates_are_restored_from_a_secret(fake_clock: FakeClock) -> None:
    """All replicas read what one of them wrote, at each stage of a rotation."""
    store = MemoryBundleStore()
    source = OwnCertificates(store, [NAME], clock=fake_clock)
    for _ in range(5):
        await source.current()
        material = await store.read()
        assert material is not None
        assert CertificateBundle.of(material.data()) == material
        await fake_clock.advance(61 * DAY)


async def test_replicas_that_start_at_once_agree(cluster: Cluster) -> None:
    """Both find no Secret, both create one, one of them is faster: the other uses the existing one."""
    sources = [
        OwnCertificates(SecretBundleStore(cluster.client, "default", "c"), [NAME], clock=cluster.clock)
        for _ in range(2)
    ]
    async with asyncio.TaskGroup() as tasks:
        found = [tasks.create_task(source.current()) for source in sources]
    assert found[0].result() == found[1].result()
    assert cluster.faults.count("POST", "/secrets") == 2
    assert len(cluster.list(Secret)) == 1


async def test_a_renewal_by_another_replica_is_used(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Two replicas renew in the same second: the Secret is written once."""
    sources = [
        OwnCertificates(SecretBundleStore(cluster.client, "default", "c"), [NAME], clock=fake_clock) for _ in range(2)
    ]
    before = await sources[0].current()
    assert await sources[1].current() == before
    await fake_clock.advance(61 * DAY)
    renewed = [await source.current() for source in sources]
    assert renewed[0] == renewed[1] != before


async def test_a_deleted_secret_is_restored_unchanged(cluster: Cluster) -> None:
    """Creating another CA would break clients that still trust the former one."""
    source = OwnCertificates(SecretBundleStore(cluster.client, "default", "c"), [NAME], clock=cluster.clock)
    before = await source.current()
    await cluster.client.delete(Secret(meta("c")))
    assert await source.current() == before
    assert len(cluster.list(Secret)) == 1


async def test_a_secret_of_another_owner_is_not_overwritten(cluster: Cluster) -> None:
    """It may be the only copy of a key."""
    await cluster.client.create(Secret(meta("c"), data={"tls.crt": b"x", "tls.key": b"y"}))
    source = OwnCertificates(SecretBundleStore(cluster.client, "default", "c"), [NAME], clock=cluster.clock)
    with pytest.raises(ConfigError, match=r"Secret default/c .* --webhook-secret"):
        await source.current()
    assert cluster.list(Secret)[0].data == {"tls.crt": b"x", "tls.key": b"y"}


async def test_a_broken_ca_is_replaced(fake_clock: FakeClock) -> None:
    """A Secret that was edited by hand must not keep the operator from starting."""
    store = MemoryBundleStore()
    source = OwnCertificates(store, [NAME], clock=fake_clock)
    await source.current()
    material = await store.read()
    assert material is not None
    broken = CertificateBundle.of({**material.data(), "signer.crt": b"garbage"})
    assert broken is not None
    await store.write(broken)
    renewed = await OwnCertificates(store, [NAME], clock=fake_clock).current()
    assert _is_trusted(renewed.serving.certificate, renewed.authority, fake_clock)


async def test_a_secret_of_the_user_is_read_and_never_written(cluster: Cluster) -> None:
    """Users with a certificate manager can keep it."""
    source = SecretCertificates(cluster.client, "default", "mine")
    with pytest.raises(ConfigError, match="Secret default/mine does not exist"):
        await source.current()
    secret = await cluster.client.create(Secret(meta("mine"), data={"tls.crt": b"x"}))
    with pytest.raises(ConfigError, match=r"has no tls\.key"):
        await source.current()
    secret.data = {"tls.crt": b"x", "tls.key": b"y"}
    await cluster.client.update(secret)
    found = await source.current()
    assert (found.serving.certificate, found.serving.key, found.authority) == (b"x", b"y", b"")


async def test_files_are_read_again_each_time(tmp_path: Path) -> None:
    """A mounted Secret changes while the process runs."""
    source = FileCertificates(tmp_path)
    with pytest.raises(ConfigError, match=r"tls\.crt: No such file"):
        await source.current()
    for name, content in (("tls.crt", b"1"), ("tls.key", b"2")):
        (tmp_path / name).write_bytes(content)
    assert (await source.current()).authority == b""
    (tmp_path / "ca.crt").write_bytes(b"3")
    found = await source.current()
    assert isinstance(found, ServingCertificates)
    assert (found.serving.certificate, found.serving.key, found.authority) == (b"1", b"2", b"3")


def test_keys_are_not_shown() -> None:
    """Objects end up in logs."""
    material = CertificateBundle.of({"signer.crt": b"", "signer.key": b"SECRET", "tls.crt": b"", "tls.key": b"SECRET"})
    assert material is not None
    assert "SECRET" not in repr(material)
