"""The server over real TLS: an embedded API server calls it through a socket, as a real one does."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from steersman import Admission, Deny, Model, Operator, Resource, Status, Unstructured, custom_resource, meta
from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.errors import ConfigError, Forbidden, InternalError
from steersman.kinds.admissionregistration_v1 import ValidatingWebhookConfiguration
from steersman.kinds.core_v1 import Secret
from steersman.manager.manager import ManagerOptions
from steersman.serving.certificates import CertificateAuthority
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.webhook.certificates.sources import (
    FileCertificates,
    MemoryBundleStore,
    OwnCertificates,
    SecretBundleStore,
    ServingCertificates,
)
from steersman.webhook.registration.configurations import configuration_objects, secret_name
from steersman.webhook.serving.address import Address, ServiceAddress, UrlAddress
from steersman.webhook.serving.routes import LARGEST, Routes
from steersman.webhook.serving.server import ServerPlace, WebhookServer
from steersman.webhook.serving.tls_listener import TlsListener, local_listener, service_listener
from tests.support.webhook_fronts import LOOPBACK, ByHand, Calendar, presented
from tests.webhook.example_reviews import response_of, review


class QuotaSpec(Model):
    """The desired state."""

    limit: int = 0


@custom_resource("tls.example.com/v1")
class Quota(Resource[QuotaSpec, Status]):
    """The limit of a user."""


def _operator() -> Operator:
    operator = Operator("quota")

    @operator.default(Quota)
    def fill(quota: Quota, _: Admission[Quota]) -> None:
        quota.spec.limit = quota.spec.limit or 5

    @operator.validate(Quota)
    async def check(quota: Quota, admission: Admission[Quota]) -> None:
        admission.warn("looked at")
        if quota.spec.limit > 9:
            raise Deny(f"{admission.user.name} wants too much")

    return operator


async def test_validate_default_warn_and_deny_through_a_socket(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The whole path: configuration, caBundle, handshake, review, answer."""
    async with cluster.running(_operator(), options=ManagerOptions(webhooks=local_listener())):
        made = await cluster.client.create(Quota(meta("a")))
        with pytest.raises(
            Forbidden, match=r'"check\.quota\.tls\.example\.com" denied the request: admin wants too much'
        ):
            await cluster.client.create(Quota(meta("b"), QuotaSpec(limit=10)))
        [configuration] = cluster.list(ValidatingWebhookConfiguration)
    assert made.spec.limit == 5
    assert any("looked at" in record.getMessage() for record in caplog.records)
    [webhook] = configuration.webhooks or ()
    assert (webhook.client_config.url or "").startswith("https://127.0.0.1:")
    assert (webhook.client_config.ca_bundle or b"").startswith(b"-----BEGIN CERTIFICATE-----")
    await cluster.webhooks.close()


async def test_the_ca_bundle_has_its_own_field_manager(cluster: Cluster) -> None:
    """Applying the configuration again in a deployment must not remove the bundle."""
    operator = _operator()
    async with cluster.running(operator, options=ManagerOptions(webhooks=local_listener())):
        [before] = cluster.list(ValidatingWebhookConfiguration)
        assert {entry.manager for entry in before.metadata.managed_fields or ()} == {"quota", "quota-certificates"}
        webhook = (before.webhooks or [])[0]
        bundle, webhook.client_config.ca_bundle = webhook.client_config.ca_bundle, None
        await cluster.client.as_manager("quota").apply(before, force=True)
        [after] = cluster.list(ValidatingWebhookConfiguration)
    assert (after.webhooks or [])[0].client_config.ca_bundle == bundle
    await cluster.webhooks.close()


async def test_two_replicas_that_start_at_once_share_one_ca(cluster: Cluster) -> None:
    """Both serve, and the API server trusts each of them: there is one Secret, and one bundle."""

    def front() -> TlsListener:
        return TlsListener(
            place=ServerPlace(),
            certificates=lambda client, clock: OwnCertificates(
                SecretBundleStore(client, "default", "quota-webhook-certificates"), LOOPBACK, clock=clock
            ),
            installs=True,
        )

    first = cluster.running(_operator(), options=ManagerOptions(webhooks=front()))
    second = cluster.running(_operator(), options=ManagerOptions(webhooks=front()))
    async with asyncio.TaskGroup() as tasks:
        starts = [tasks.create_task(replica.__aenter__()) for replica in (first, second)]
    assert all(start.result().readiness.failing() == {} for start in starts)
    [secret] = cluster.list(Secret)
    [configuration] = cluster.list(ValidatingWebhookConfiguration)
    [webhook] = configuration.webhooks or ()
    assert webhook.client_config.ca_bundle == (secret.data or {})["ca.crt"]
    await cluster.client.create(Quota(meta("a")))
    for replica in (first, second):
        await replica.__aexit__(None, None, None)
    await cluster.webhooks.close()


async def test_behind_a_service_only_the_ca_bundle_is_written(cluster: Cluster) -> None:
    """The configuration is part of the deployment; an operator in a pod may not create or change it."""
    address, operator = ServiceAddress("default", "quota-webhooks"), _operator()
    front = service_listener(address, secret_name("quota"), host="127.0.0.1", port=0)
    for configuration in configuration_objects("quota", operator.webhooks, address):
        await cluster.client.apply(Unstructured(configuration))
    [before] = cluster.list(ValidatingWebhookConfiguration)
    async with cluster.running(operator, options=ManagerOptions(webhooks=front)):
        [secret] = cluster.list(Secret)
        [after] = cluster.list(ValidatingWebhookConfiguration)
    assert cluster.list(ValidatingWebhookConfiguration) == [after]
    (after.webhooks or [])[0].client_config.ca_bundle = None
    assert after.webhooks == before.webhooks
    assert secret.name == "quota-webhook-certificates"
    await cluster.webhooks.close()


async def test_reviews_are_counted_and_the_expiry_of_the_certificate_is_a_metric(cluster: Cluster) -> None:
    """Dashboards for controller-runtime work, and an alert can come before readiness fails."""
    async with cluster.running(_operator(), options=ManagerOptions(webhooks=local_listener())) as manager:
        await cluster.client.create(Quota(meta("a")))
        text = manager.metrics.text().decode()
    path = "/quota/validate/check"
    assert f'controller_runtime_webhook_requests_total{{code="200",webhook="{path}"}} 1.0' in text
    assert f'controller_runtime_webhook_latency_seconds_count{{webhook="{path}"}} 1.0' in text
    assert f'controller_runtime_webhook_requests_in_flight{{webhook="{path}"}} 0.0' in text
    [expiry] = [line for line in text.splitlines() if line.startswith("steersman_webhook_certificate_expiry_seconds ")]
    days = (float(expiry.split()[1]) - RealClock().now().timestamp()) / 86400
    assert 89 < days < 91
    await cluster.webhooks.close()


async def test_readiness_fails_when_the_certificate_has_expired(cluster: Cluster) -> None:
    """A replica without a trusted certificate must not be called."""
    calendar = Calendar()
    front = ByHand(calendar, OwnCertificates(MemoryBundleStore(), LOOPBACK, clock=calendar))
    async with cluster.running(_operator(), options=ManagerOptions(webhooks=front)) as manager:
        assert manager.readiness.failing() == {}
        calendar.days = 91
        assert "the serving certificate expired at" in manager.readiness.failing()["webhook-certificate"]
        await front.turn()
        assert manager.readiness.failing() == {}
        calendar.days = -30
        assert "is not valid before" in manager.readiness.failing()["webhook-certificate"]
    await cluster.webhooks.close()


async def test_certificates_of_the_user_are_reloaded_while_serving(tmp_path: Path) -> None:
    """A certificate manager replaces the files of a running pod; a file that is invalid for a moment does no harm."""
    clock = RealClock()
    authority = CertificateAuthority.create("mine", clock=clock)

    def issue() -> None:
        pair = authority.issue_server(LOOPBACK)
        for name, content in (("tls.crt", pair.certificate), ("tls.key", pair.key), ("ca.crt", authority.certificate)):
            (tmp_path / name).write_bytes(content)

    published: list[bytes] = []

    async def publish(bundle: bytes) -> None:
        published.append(bundle)

    issue()
    async with WebhookServer.serving(Routes(clock), FileCertificates(tmp_path), ServerPlace(), clock=clock) as server:
        first = await presented(server.address, authority.certificate)
        issue()
        await server.renew(publish)
        second = await presented(server.address, authority.certificate)
        (tmp_path / "tls.key").write_bytes(b"half of a key")
        with pytest.raises(ConfigError, match="cannot be used"):
            await server.renew(publish)
        assert await presented(server.address, authority.certificate) == second != first
    assert set(published) == {authority.certificate}


@asynccontextmanager
async def _served(operator: Operator) -> AsyncIterator[tuple[Cluster, Address, bytes]]:
    cluster = Cluster(seed=0)
    clock = RealClock()
    front = ByHand(clock, OwnCertificates(MemoryBundleStore(), LOOPBACK, clock=clock))
    async with cluster.running(operator, options=ManagerOptions(webhooks=front)):
        yield cluster, front.address, front.authority
    await cluster.webhooks.close()


async def _post(address: Address, authority: bytes, path: str, body: bytes, *, length: int | None = None) -> str:
    """Send raw bytes over TLS; return the whole answer."""
    host, _, port = str(address).removeprefix("https://").rpartition(":")
    context = ssl.create_default_context(cadata=authority.decode())
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body) if length is None else length}\r\nconnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    [published] = [line for line in answer.splitlines() if line.startswith(b"content-length: ")]
    answer += await reader.readexactly(int(published.partition(b" ")[2]))
    writer.transport.abort()
    return answer.decode()


async def test_invalid_input_over_the_network_is_rejected_and_writes_nothing() -> None:
    """Any client that reaches the port may send anything."""
    path = "/quota/validate/check"
    kind = {"group": "tls.example.com", "version": "v1", "kind": "Quota"}
    async with _served(_operator()) as (cluster, address, authority):
        before = cluster.server.objects.version

        async def published(body: bytes, where: str = path) -> tuple[str, str]:
            answer = await _post(address, authority, where, body)
            return answer[9:12], json.loads(answer.partition("\r\n\r\n")[2])["message"]

        assert await published(b"{") == (
            "400",
            "the body is not a valid AdmissionReview: not a _Envelope: Input data was truncated",
        )
        status, why = await published(review())
        assert (status, why) == ("400", "check reviews tls.example.com/v1 Quota, not v1 ConfigMap")
        assert (await published(review(kind=kind, object=None)))[1] == "the review u-1 contains no object"
        assert (await published(review(kind=kind, uid="")))[1] == "the request of the AdmissionReview has no uid"
        assert (await published(b"{}", "/quota/validate/other"))[0] == "404"
        oversized = await _post(address, authority, path, b"", length=LARGEST + 1)
        assert oversized.startswith("HTTP/1.1 413")
        assert f"the body of the request exceeds {LARGEST} bytes" in oversized
        answer = await _post(
            address, authority, path, review(kind=kind, uid="mine", object={"metadata": {"name": "a"}})
        )
        assert response_of(answer.partition("\r\n\r\n")[2].encode())["uid"] == "mine"
        assert cluster.server.objects.version == before


async def test_a_new_certificate_waits_until_its_ca_is_published(
    fake_clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The trusted certificate is served as long as it is valid; once it expired there is nothing to lose."""
    source = OwnCertificates(MemoryBundleStore(), LOOPBACK, clock=fake_clock)

    async def refuse(_: bytes) -> None:
        raise ConfigError("no answer")

    async with WebhookServer.serving(Routes(fake_clock), source, ServerPlace(), clock=fake_clock) as server:
        first = server.valid_until
        await fake_clock.advance(61 * 86400)
        with pytest.raises(ConfigError, match="no answer"):
            await server.renew(refuse)
        assert (server.valid_until, server.check()) == (first, "")
        await fake_clock.advance(30 * 86400)
        assert "expired" in server.check()
        await server.renew(refuse)
        assert server.check() == ""
    assert any("cannot set the CA bundle" in record.getMessage() for record in caplog.records)


async def test_nothing_is_served_without_tls() -> None:
    """A review contains whole objects, Secrets too."""
    async with _served(_operator()) as (_, address, __):
        host, _, port = str(address).removeprefix("https://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /quota/validate/check HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
        assert b"HTTP/1.1" not in await reader.read()
        writer.close()


async def test_a_certificate_that_is_not_trusted_fails_writes_until_the_next_check(cluster: Cluster) -> None:
    """Another server at the address is not trusted; a CA bundle that was changed is set again."""
    front = ByHand(cluster.clock, OwnCertificates(MemoryBundleStore(), LOOPBACK, clock=cluster.clock))
    async with cluster.running(_operator(), options=ManagerOptions(webhooks=front)):
        other = CertificateAuthority.create("other", clock=cluster.clock).certificate
        [configuration] = cluster.list(ValidatingWebhookConfiguration)
        await cluster.client.modify(configuration, lambda found: _distrust(found, other))
        with pytest.raises(InternalError, match="failed calling webhook"):
            await cluster.client.create(Quota(meta("a")))
        assert cluster.list(Quota) == []
        await front.turn()
        await cluster.client.create(Quota(meta("a")))
    await cluster.webhooks.close()


def _distrust(configuration: ValidatingWebhookConfiguration, authority: bytes) -> None:
    for webhook in configuration.webhooks or ():
        webhook.client_config.ca_bundle = authority


async def test_an_address_must_be_https() -> None:
    """The API server calls nothing else."""
    for base in ("http://a", "https://", "https://a/path", "a:1"):
        with pytest.raises(ConfigError, match="https://HOST:PORT"):
            UrlAddress(base)


class FailingSource:
    """A source that fails on demand."""

    def __init__(self, first: ServingCertificates) -> None:
        self.failing = False
        self._first = first

    async def current(self) -> ServingCertificates:
        """Return always the same."""
        if self.failing:
            raise ConfigError("the Secret is gone")
        return self._first


async def test_a_failing_source_is_reported_and_retried(
    fake_clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """An API server that is unavailable for a minute must not end the operator."""
    source = FailingSource(await OwnCertificates(MemoryBundleStore(), LOOPBACK, clock=fake_clock).current())
    published: list[bytes] = []

    async def publish(bundle: bytes) -> None:
        published.append(bundle)

    serving = WebhookServer.serving(Routes(fake_clock), source, ServerPlace(), clock=fake_clock)
    async with serving as server, background(server.keep(publish), name="keep"):
        source.failing = True
        await fake_clock.advance(31)
        assert published == []
        source.failing = False
        await fake_clock.advance(31)
        assert published == [server.authority]
    assert any("were not renewed" in record.getMessage() for record in caplog.records)
