"""What webhooks, policies and their certificates promise, over TLS, on every server: the embedded and a real one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated

import pytest

from steersman import Admission, Deny, Forbidden, Invalid, Model, Operator, Resource, Status, custom_resource, meta
from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import RealClock
from steersman.concurrency import background, wait_ready
from steersman.errors import ApiError, InternalError
from steersman.kinds.admissionregistration_v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
from steersman.kinds.core_v1 import Secret
from steersman.manager.manager import Manager, ManagerOptions
from steersman.schema import Rule
from steersman.testing.eventually import eventually
from steersman.webhook.certificates.sources import MemoryBundleStore, OwnCertificates, SecretBundleStore
from steersman.webhook.serving.listener import WebhookListener
from steersman.webhook.serving.server import ServerPlace
from steersman.webhook.serving.tls_listener import TlsListener, local_listener
from tests.contract.servers import Server
from tests.support.webhook_fronts import LOOPBACK, ByHand, Calendar, presented


class BoxSpec(Model):
    """The desired state."""

    size: int = 0
    owner: Annotated[
        str, Rule("self == oldSelf || request.userInfo.username == oldSelf", "only the owner gives it away")
    ] = ""


@custom_resource("hooks.contract.example.com/v1")
class Box(Resource[BoxSpec, Status]):
    """A kind with a size."""


async def soon(condition: Callable[[], object]) -> None:
    """Wait for a result for which a real server may need seconds."""
    await eventually(condition, clock=RealClock(), within=20.0)


@asynccontextmanager
async def running(
    client: Client, operator: Operator, listener: WebhookListener | None = None
) -> AsyncIterator[Manager]:
    """Run an operator with its webhooks on this machine."""
    options = ManagerOptions(namespaces=(client.namespace,), install_crds=True, webhooks=listener or local_listener())
    manager = Manager([operator], client.transport, options, clock=RealClock())
    async with background(manager.run(), name="manager") as task:
        await wait_ready(manager.wait_ready(), task)
        yield manager


async def rejected(write: Callable[[], Awaitable[object]]) -> ApiError:
    """Write until the write is rejected: a real server needs a moment to load webhooks and policies."""
    for _ in range(400):
        try:
            await write()
        except ApiError as error:
            return error
        await RealClock().sleep(0.05)
    raise AssertionError("the write was never rejected")


async def until_called(client: Client) -> ApiError:
    """Wait until webhooks are called: a box that is too large is rejected."""
    return await rejected(lambda: client.dry_run().create(Box(meta("a"), BoxSpec(size=10))))


def boxes() -> Operator:
    """Return an operator with webhooks for boxes."""
    operator = Operator("boxes")

    @operator.default(Box)
    def fill(box: Box, admission: Admission[Box]) -> None:
        box.spec.size = box.spec.size or 5
        box.labels["by"] = admission.user.name.partition(":")[0]

    @operator.validate(Box)
    async def check(box: Box, admission: Admission[Box]) -> None:
        if box.spec.size > 9:
            raise Deny(f"{box.spec.size} is too large", field="spec.size")
        if admission.old is not None and box.spec.size < admission.old.spec.size:
            raise Deny("boxes do not shrink")
        if box.spec.size == 7:
            raise KeyError("a bug")

    return operator


async def test_functions_default_deny_and_fail(server: Server) -> None:
    """The whole path over a socket, with our message inside the server's."""
    async with server.client() as client, running(client, boxes()):
        too_large = await until_called(client)
        assert isinstance(too_large, Invalid)
        assert too_large.message == (
            'admission webhook "check.boxes.hooks.contract.example.com" denied the request: spec.size: 10 is too large'
        )
        assert [(cause.field, cause.message) for cause in too_large.causes] == [("spec.size", "10 is too large")]
        made = await client.create(Box(meta("a")))
        assert (made.spec.size, list(made.labels)) == (5, ["by"])
        with pytest.raises(Forbidden, match="boxes do not shrink"):
            await client.patch(made, {"spec": {"size": 4}})
        with pytest.raises(InternalError, match="failed to call webhook: check failed with KeyError"):
            await client.create(Box(meta("b"), BoxSpec(size=7)))
        await client.delete(made)


async def test_a_failing_webhook_with_failure_policy_ignore_is_ignored(server: Server) -> None:
    """But if it denies, that counts."""
    operator = Operator("ignored-boxes")

    @operator.validate(Box, failure="Ignore", on=["CREATE"])
    def check(box: Box, _: Admission[Box]) -> None:
        if box.spec.size == 1:
            raise Deny("one is rejected")
        raise RuntimeError("a bug")

    async with server.client() as client, running(client, operator):
        error = await rejected(lambda: client.dry_run().create(Box(meta("a"), BoxSpec(size=1))))
        assert "one is rejected" in error.message
        await client.create(Box(meta("a")))


async def test_a_slow_webhook_times_out(server: Server) -> None:
    """A write waits for the declared time, and is rejected then."""
    operator, never = Operator("slow-boxes"), asyncio.Event()

    @operator.validate(Box, timeout=1, on=["CREATE"])
    async def check(box: Box, _: Admission[Box]) -> None:
        if box.spec.size == 10:
            raise Deny("too large")
        await never.wait()

    async with server.client() as client, running(client, operator):
        await until_called(client)
        with pytest.raises(InternalError, match=r"failed to call webhook: .*no response within"):
            await client.create(Box(meta("a")))


async def test_mutating_webhooks_are_called_again_and_see_dry_runs(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """A function must see the changes of another, whatever their order; warnings reach the user."""
    operator = Operator("again-boxes")
    dry: list[bool] = []

    @operator.default(Box, name="a-owner")
    def own(box: Box, _: Admission[Box]) -> None:
        box.labels["size"] = "large" if box.spec.size > 4 else "small"

    @operator.default(Box, name="b-size")
    def fill(box: Box, _: Admission[Box]) -> None:
        box.spec.size = box.spec.size or 5

    @operator.validate(Box)
    def check(box: Box, admission: Admission[Box]) -> None:
        if box.spec.size > 9:
            raise Deny("too large")
        dry.append(admission.dry_run)
        admission.warn("boxes are going away")

    async with server.client() as client, running(client, operator):
        await until_called(client)
        dry.clear()
        shown = await client.dry_run().create(Box(meta("a")))
        made = await client.create(Box(meta("a")))
        await client.delete(made)
    assert shown.labels == made.labels == {"size": "large"}
    assert dry == [True, False]
    assert any("boxes are going away" in record.getMessage() for record in caplog.records)


async def test_a_rule_about_the_request_is_evaluated_by_the_server(server: Server) -> None:
    """Without calling the operator, which may be down."""
    operator = Operator("policed-boxes")
    operator.declare(Box)
    async with server.client() as client:
        async with running(client, operator):
            made = await client.create(Box(meta("a"), BoxSpec(owner="ann")))
        error = await rejected(lambda: client.dry_run().patch(made, {"spec": {"owner": "eve"}}))
        assert isinstance(error, Invalid)
        assert "spec.owner: only the owner gives it away" in error.message
        name = "policed-boxes.boxes.v1.hooks.contract.example.com"
        await client.delete(Ref(ValidatingAdmissionPolicyBinding, name))
        await client.delete(Ref(ValidatingAdmissionPolicy, name))


async def test_the_ca_rotates_under_load_without_one_failed_request(server: Server) -> None:
    """Published first, then used: every write in between succeeds, over new connections and old ones."""
    # TLS compares with today's date, so all certificates are valid now: the CA is 260 days old, and the first
    # certificate is of last month.
    calendar = Calendar(-260)
    source = OwnCertificates(MemoryBundleStore(), LOOPBACK, clock=calendar)
    await source.current()
    calendar.days = -30
    listener = ByHand(calendar, source)
    written = 0
    stop = asyncio.Event()
    bundles, certificates = [], []

    async def load(client: Client, worker: int) -> None:
        nonlocal written
        for number in range(100_000):
            if stop.is_set():
                return
            await client.create(Box(meta(f"q-{worker}-{number}")))
            written += 1

    async with server.client() as client, running(client, boxes(), listener):
        await until_called(client)
        async with asyncio.TaskGroup() as tasks:
            for worker in range(4):
                tasks.create_task(load(client, worker))
            # Nothing is due; the next CA is published; nothing yet; it is used; nothing more.
            for days in (-29, -16.6, -16.59, -16.5, -16.4):
                calendar.days = days
                await listener.turn()
                target = written + 8
                await soon(lambda target=target: written >= target)
                bundles.append(listener.authority)
                certificates.append(await presented(listener.address, listener.authority))
                # An API server that has not received the last change still trusts the served certificate.
                assert await presented(listener.address, bundles[max(len(bundles) - 2, 0)])
            stop.set()
        stored = [box.name async for box in client.list(Box)]
    old, new = bundles[0], bundles[3].removesuffix(bundles[0])
    assert bundles == [old, old + new, old + new, new + old, new + old]
    # The next CA comes with a certificate of the old one, then with one of its own.
    assert [certificates.index(certificate) for certificate in certificates] == [0, 1, 1, 3, 3]
    assert len(stored) == written >= 40


async def test_two_replicas_that_start_at_once_share_one_ca(server: Server) -> None:
    """Both serve, and the API server trusts each of them: there is one Secret, and one bundle."""

    def listener(namespace: str) -> TlsListener:
        return TlsListener(
            place=ServerPlace(),
            certificates=lambda client, clock: OwnCertificates(
                SecretBundleStore(client, namespace, "certificates"), LOOPBACK, clock=clock
            ),
            installs=True,
        )

    async with server.client() as client, AsyncExitStack() as stack:
        replicas = [running(client, boxes(), listener(client.namespace)) for _ in range(2)]
        async with asyncio.TaskGroup() as tasks:
            managers = [tasks.create_task(replica.__aenter__()) for replica in replicas]
        for replica in replicas:
            stack.push_async_exit(replica)
        assert [manager.result().readiness.failing() for manager in managers] == [{}, {}]
        assert [secret.name async for secret in client.list(Secret)] == ["certificates"]
        await until_called(client)
        await client.create(Box(meta("a")))
