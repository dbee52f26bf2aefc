"""TLS between clients, members and the operator, and its rotation."""

import ssl

import pytest
from mongod_testbed import NAME, MongodTestbed, StartTestbed
from pymongo import AsyncMongoClient
from pymongo.errors import PyMongoError
from steersman import meta
from steersman.clock import RealClock
from steersman.kinds.core_v1 import ConfigMap, Pod, Secret
from steersman.serving import advance_bundle

from mgors.api.mgors_v1 import Tls
from mgors.certificates import served_certificate
from mgors.tls import mode_of


def modes(testbed: MongodTestbed) -> set[str]:
    """Return the modes of all pods."""
    return {mode_of(pod.spec) for pod in testbed.cluster.list(Pod) if not pod.is_deleting}


def authority(testbed: MongodTestbed) -> str:
    """Return the authorities that clients trust."""
    found = [one for one in testbed.cluster.list(ConfigMap) if one.name == f"{NAME}-ca"]
    return (found[0].data or {})["ca.crt"] if found else ""


async def test_the_authority_is_replaced_while_clients_write(
    start: StartTestbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No pod is replaced, no acknowledged write is lost, and in the end all members serve another certificate."""
    monkeypatch.setenv("MGORS_CA_OVERLAP", "0.01")
    async with start() as testbed:
        await testbed.create(3, tls=Tls(revision="1"))
        await testbed.until_ready(within=90)
        await testbed.write(0, 100)
        pods = {pod.uid for pod in testbed.cluster.list(Pod)}
        first = authority(testbed)
        before = {pod: await served_certificate(testbed.host(pod)) for pod in testbed.pods()}
        async with testbed.writing() as writes:
            await testbed.patch({"tls": {"revision": "2"}})
            await testbed.until(lambda: "CAAnnounced" in testbed.events and "CertificateIssued" in testbed.events, 60)
            await testbed.until(lambda: testbed.condition("CertificatesServed") == ("False", "Rotating"), 60)
            await testbed.until(lambda: testbed.condition("CertificatesServed")[0] == "True", 60)
            done = len(writes.acknowledged)
            await testbed.until(lambda: len(writes.acknowledged) > done + 20)
        await testbed.check(100, writes)
        assert {pod.uid for pod in testbed.cluster.list(Pod)} == pods
        assert authority(testbed) != first
        after = {pod: await served_certificate(testbed.host(pod)) for pod in testbed.pods()}
        assert all(after[pod] and after[pod] != before[pod] for pod in before)
        uri = testbed.secret(f"{NAME}-connection")["admin.admin"].replace("&tls=true", "")
        async with AsyncMongoClient(uri, serverSelectionTimeoutMS=1000) as client:
            with pytest.raises(PyMongoError):
                await client.admin.command("ping")


async def test_a_running_set_gets_tls_step_by_step(start: StartTestbed) -> None:
    """Members of neighbouring modes talk to each other, so that a majority is there all the time."""
    async with start() as testbed:
        await testbed.create(3)
        await testbed.until_ready()
        await testbed.write(0, 100)
        async with testbed.writing() as writes:
            await testbed.patch({"tls": {"mode": "preferTLS"}})
            await testbed.until(lambda: modes(testbed) == {"preferTLS"} and testbed.is_ready(), within=150)
            done = len(writes.acknowledged)
            await testbed.until(lambda: len(writes.acknowledged) > done + 20)
        await testbed.check(100, writes)
        await testbed.until(lambda: "tls=true" in testbed.secret(f"{NAME}-connection")["admin.admin"])
        assert await testbed.count() > 100


async def test_another_authority_at_once_does_not_lock_the_operator_out(start: StartTestbed) -> None:
    """A Secret of another tool replaces the own authority without any overlap: members still have the old one."""
    async with start() as testbed:
        await testbed.create(3, tls=Tls())
        await testbed.until_ready(within=90)
        await testbed.write(0, 100)
        pods = {pod.uid for pod in testbed.cluster.list(Pod)}
        bundle = advance_bundle(None, ["other.example"], clock=RealClock(), is_peer=True)
        data = {"tls.crt": bundle.serving.certificate, "tls.key": bundle.serving.key, "ca.crt": bundle.authority}
        await testbed.cluster.client.create(Secret(meta("given", namespace="default"), data=data))
        await testbed.patch({"tls": {"secretName": "given", "allowInvalidHostnames": True}})
        served = ssl.PEM_cert_to_DER_cert(bundle.serving.certificate.decode())

        async def is_served() -> bool:
            return {await served_certificate(testbed.host(pod)) for pod in testbed.pods()} == {served}

        await testbed.until(is_served, 60)
        await testbed.until(lambda: testbed.condition("CertificatesServed")[0] == "True" and testbed.is_ready(), 60)
        assert {pod.uid for pod in testbed.cluster.list(Pod)} == pods
        await testbed.write(100, 100)
        assert await testbed.count() == 200
        assert "NotAuthorised" not in testbed.events


async def test_a_missing_secret_of_certificates_changes_nothing(start: StartTestbed) -> None:
    """Members still have its content; another CA, which no client would trust, is not created."""
    async with start() as testbed:
        await testbed.create(1, tls=Tls())
        await testbed.until_ready(1)
        before = authority(testbed)
        [secret] = [one for one in testbed.cluster.list(Secret) if one.name == f"{NAME}-certificates"]
        await testbed.cluster.client.delete(secret)
        await testbed.wait_reconciles(4)
        assert authority(testbed) == before
        assert testbed.is_ready(1)


async def test_a_certificate_that_members_reject_does_not_stop_backups(start: StartTestbed) -> None:
    """A key does not belong to its certificate: members serve the old one, and backups go on."""
    first, second = (advance_bundle(None, ["shop.example"], clock=RealClock(), is_peer=True) for _ in range(2))
    data = {"tls.crt": first.serving.certificate, "tls.key": first.serving.key, "ca.crt": first.authority}
    async with start() as testbed:
        secret = await testbed.cluster.client.create(Secret(meta("given", namespace="default"), data=data))
        tls = Tls(secret_name="given", allow_invalid_hostnames=True)  # noqa: S106 - the name of a Secret
        await testbed.create(1, tls=tls)
        await testbed.until_ready(1)
        await testbed.write(0, 10)
        secret.data = {**data, "tls.crt": second.serving.certificate}
        await testbed.cluster.client.update(secret)
        await testbed.until(lambda: testbed.condition("CertificatesServed") == ("False", "RotationFailed"))
        await testbed.patch({"backup": {"schedule": "@every 1s"}})
        await testbed.until(lambda: testbed.mgors.status.last_backup != "")
        assert testbed.condition("CertificatesServed") == ("False", "RotationFailed")
        assert await testbed.count() == 10
