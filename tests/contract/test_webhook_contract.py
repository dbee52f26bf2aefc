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
    """What is wanted."""

    size: int = 0
    owner: Annotated[
        str, Rule("self == oldSelf || request.userInfo.username == oldSelf", "only the owner gives it away")
    ] = ""


@custom_resource("hooks.contract.example.com/v1")
class Box(Resource[BoxSpec, Status]):
    """Something with a size."""


async def soon(condition: Callable[[], object]) -> None:
    """Wait for something that a real server may take seconds for."""
    await eventually(condition, clock=RealClock(), within=20.0)


@asynccontextmanager
async def running(client: Client, operator: Operator, front: WebhookListener | None = None) -> AsyncIterator[Manager]:
    """Run an operator with its webhooks on this machine."""
    options = ManagerOptions(namespaces=(client.namespace,), install_crds=True, webhooks=front or local_listener())
    manager = Manager([operator], client.transport, options, clock=RealClock())
    async with background(manager.run(), name="manager") as task:
        await wait_ready(manager.wait_ready(), task)
        yield manager


async def refused(write: Callable[[], Awaitable[object]]) -> ApiError:
    """Try to write until that is refused: a real server needs a moment to hear of webhooks and policies."""
    for _ in range(400):
        try:
            await write()
        except ApiError as error:
            return error
        await RealClock().sleep(0.05)
    raise AssertionError("the write was never refused")


async def until_asked(client: Client) -> ApiError:
    """Wait until webhooks are asked: a box that is too large is refused."""
    return await refused(lambda: client.dry_run().create(Box(meta("a"), BoxSpec(size=10))))


def boxes() -> Operator:
    """Make an operator that has something to say about boxes."""
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
    """The whole way through a socket, with the server's own words around ours."""
    async with server.client() as client, running(client, boxes()):
        too_large = await until_asked(client)
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


async def test_a_failing_function_that_may_be_ignored_is(server: Server) -> None:
    """And its denial still counts."""
    operator = Operator("ignored-boxes")

    @operator.validate(Box, failure="Ignore", on=["CREATE"])
    def check(box: Box, _: Admission[Box]) -> None:
        if box.spec.size == 1:
            raise Deny("one is refused")
        raise RuntimeError("a bug")

    async with server.client() as client, running(client, operator):
        error = await refused(lambda: client.dry_run().create(Box(meta("a"), BoxSpec(size=1))))
        assert "one is refused" in error.message
        await client.create(Box(meta("a")))


async def test_a_function_that_takes_too_long_is_not_waited_for(server: Server) -> None:
    """A write waits for as long as was declared, and is refused then."""
    operator, never = Operator("slow-boxes"), asyncio.Event()

    @operator.validate(Box, timeout=1, on=["CREATE"])
    async def check(box: Box, _: Admission[Box]) -> None:
        if box.spec.size == 10:
            raise Deny("too large")
        await never.wait()

    async with server.client() as client, running(client, operator):
        await until_asked(client)
        with pytest.raises(InternalError, match=r"failed to call webhook: .*no response within"):
            await client.create(Box(meta("a")))


async def test_defaults_are_asked_again_and_dry_runs_and_warnings_are_told(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """What one function changes another must see, whatever their order; people are told what was said."""
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
        await until_asked(client)
        dry.clear()
        shown = await client.dry_run().create(Box(meta("a")))
        made = await client.create(Box(meta("a")))
        await client.delete(made)
    assert shown.labels == made.labels == {"size": "large"}
    assert dry == [True, False]
    assert any("boxes are going away" in record.getMessage() for record in caplog.records)


async def test_a_rule_that_needs_the_request_is_kept_by_the_server(server: Server) -> None:
    """Without anybody being asked: the operator may be down."""
    operator = Operator("policed-boxes")
    operator.declare(Box)
    async with server.client() as client:
        async with running(client, operator):
            made = await client.create(Box(meta("a"), BoxSpec(owner="ann")))
        error = await refused(lambda: client.dry_run().patch(made, {"spec": {"owner": "eve"}}))
        assert isinstance(error, Invalid)
        assert "spec.owner: only the owner gives it away" in error.message
        name = "policed-boxes.boxes.v1.hooks.contract.example.com"
        await client.delete(Ref(ValidatingAdmissionPolicyBinding, name))
        await client.delete(Ref(ValidatingAdmissionPolicy, name))


async def test_the_authority_changes_under_load_without_one_failed_request(server: Server) -> None:
    """Announced, promoted: every write in between passes, over new connections and old ones."""
    # All that is served is valid in the eyes of TLS, which looks at today: the authority is 260 days old, and the
    # certificate that it starts with is of last month.
    calendar = Calendar(-260)
    source = OwnCertificates(MemoryBundleStore(), LOOPBACK, clock=calendar)
    await source.current()
    calendar.days = -30
    front = ByHand(calendar, source)
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

    async with server.client() as client, running(client, boxes(), front):
        await until_asked(client)
        async with asyncio.TaskGroup() as tasks:
            for worker in range(4):
                tasks.create_task(load(client, worker))
            # Nothing is due; the next authority is announced; nothing yet; it is promoted; nothing more.
            for days in (-29, -16.6, -16.59, -16.5, -16.4):
                calendar.days = days
                await front.turn()
                target = written + 8
                await soon(lambda target=target: written >= target)
                bundles.append(front.authority)
                certificates.append(await presented(front.address, front.authority))
                # An API server that has not heard of the last change trusts what is served all the same.
                assert await presented(front.address, bundles[max(len(bundles) - 2, 0)])
            stop.set()
        stored = [box.name async for box in client.list(Box)]
    old, new = bundles[0], bundles[3].removesuffix(bundles[0])
    assert bundles == [old, old + new, old + new, new + old, new + old]
    assert [certificate == certificates[0] for certificate in certificates] == [True, True, True, False, False]
    assert len(stored) == written >= 40


async def test_two_replicas_that_start_at_once_share_one_authority(server: Server) -> None:
    """Both serve, and the API server trusts each of them: there is one Secret, and one bundle."""

    def front(namespace: str) -> TlsListener:
        return TlsListener(
            place=ServerPlace(),
            certificates=lambda client, clock: OwnCertificates(
                SecretBundleStore(client, namespace, "certificates"), LOOPBACK, clock=clock
            ),
            installs=True,
        )

    async with server.client() as client, AsyncExitStack() as stack:
        replicas = [running(client, boxes(), front(client.namespace)) for _ in range(2)]
        async with asyncio.TaskGroup() as tasks:
            managers = [tasks.create_task(replica.__aenter__()) for replica in replicas]
        for replica in replicas:
            stack.push_async_exit(replica)
        assert [manager.result().readiness.failing() for manager in managers] == [{}, {}]
        assert [secret.name async for secret in client.list(Secret)] == ["certificates"]
        await until_asked(client)
        await client.create(Box(meta("a")))
