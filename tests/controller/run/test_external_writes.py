"""Writes to other systems: fenced by leadership, counted, logged, recorded, and part of crash tests."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.concurrency import background
from steersman.controller.run.external_writes import ExternalWrites, carry_out_at_once
from steersman.errors import LeadershipLost
from steersman.history.records import WriteResult
from steersman.protocol.http import Exchange, Request, Response
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.scenarios import survive_crashes
from steersman.testing.fake_clock import FakeClock
from steersman.transport.services import HttpServices
from tests.support.peer import outcome

_log = logging.LoggerAdapter(logging.getLogger("steersman.test"))


class MemberSpec(Model):
    """The name of the member in the database."""

    host: str = ""


@custom_resource("external.example.com/v1")
class Member(Resource[MemberSpec, Status]):
    """A member of a database."""


class Database:
    """A system outside the cluster that counts its commands."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    async def command(self, text: str) -> int:
        """Run a command and return how many there were."""
        self.commands.append(text)
        return len(self.commands)


class Fence:
    """A leadership fence that a test closes."""

    def __init__(self) -> None:
        self.is_closed = False

    def check(self) -> None:
        """Raise if the fence is closed."""
        if self.is_closed:
            raise LeadershipLost("closed")


def members(database: Database) -> Operator:
    """Return an operator that adds each member to the database."""
    operator = Operator("members")

    @operator.reconciler(Member)
    async def reconcile(member: Member, ctx: Context[Member]) -> None:
        if f"add {member.name}" not in database.commands:
            await ctx.external_write(
                "mongodb", f"add member {member.name}", lambda: database.command(f"add {member.name}")
            )
        ctx.condition("Ready", status=True, reason="Added")

    return operator


async def write(
    work: Callable[[], Awaitable[int]], fence: Fence | None = None
) -> tuple[int | BaseException, list[WriteResult]]:
    """Carry out one write; return its result or exception, and what was recorded."""
    results: list[WriteResult] = []

    def on_ended(_: str, __: str, ended: WriteResult, ___: float) -> None:
        results.append(ended)

    writes = ExternalWrites(FakeClock(), fence, carry_out_at_once)
    try:
        result: int | BaseException = await writes.run("mongodb", "add", work, log=_log, on_ended=on_ended)
    except (LeadershipLost, ValueError, asyncio.CancelledError) as error:
        result = error
    return result, results


async def test_a_write_is_counted_logged_and_returned(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """An administrator sees what the operator changed in a database, but not the data it sent."""
    database = Database()
    caplog.set_level(logging.INFO, "steersman.controller")
    async with cluster.running(members(database)) as manager:
        await cluster.client.create(Member(meta("shop-2")))
        await cluster.settle()
        text = manager.metrics.text().decode()
    assert database.commands == ["add shop-2"]
    assert 'steersman_external_writes_total{controller="member",result="succeeded",system="mongodb"} 1.0' in text
    [line] = [record for record in caplog.records if record.getMessage() == "external write"]
    fields = line.__dict__
    assert (fields["system"], fields["description"], fields["result"]) == ("mongodb", "add member shop-2", "succeeded")
    assert fields["key"] == "default/shop-2"


async def test_a_write_is_recorded_however_it_ends() -> None:
    """A failed or cancelled write may have been executed; a rejected one was not sent."""

    async def fail() -> int:
        raise ValueError("mongodb://admin:secret@db")

    async def be_cancelled() -> int:
        raise asyncio.CancelledError

    async def succeed() -> int:
        return 7

    ends = [await write(work) for work in (succeed, fail, be_cancelled)]
    assert [type(result).__name__ for result, _ in ends] == ["int", "ValueError", "CancelledError"]
    assert [results for _, results in ends] == [
        [WriteResult.SUCCEEDED],
        [WriteResult.FAILED],
        [WriteResult.INTERRUPTED],
    ]


async def test_a_process_that_is_not_the_leader_writes_nothing_elsewhere() -> None:
    """A database has no lease of its own, so that of the operator must protect it, too."""
    database, fence = Database(), Fence()
    fence.is_closed = True
    result, [recorded] = await write(lambda: database.command("add"), fence)
    assert isinstance(result, LeadershipLost)
    assert recorded is WriteResult.REFUSED
    assert database.commands == []


class Provider:
    """An HTTP service that answers once with Retry-After."""

    def __init__(self, fence: Fence) -> None:
        self.requests: list[str] = []
        self._fence = fence

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer with Retry-After; meanwhile another process is elected."""
        self.requests.append(request.method)
        self._fence.is_closed = True
        exchange.respond(Response(429, [("retry-after", "5")]))


@pytest.mark.parametrize(("method", "sent"), [("POST", 1), ("GET", 2)])
async def test_calls_of_services_are_fenced_in_each_attempt(method: str, sent: int, fake_clock: FakeClock) -> None:
    """``ctx.http`` waits for ``Retry-After`` as the client does; without leadership only reads continue."""
    services, fence = HttpServices(fake_clock), Fence()
    provider = Provider(fence)
    services.serve("http://names.example.com", provider)
    service = services.at("http://names.example.com/v1", fence=fence)
    ends: list[object] = []

    async def call() -> None:
        ends.append(await outcome(service.request(method, timeout=8.0)))

    async with background(call(), name="call"):
        await fake_clock.advance(10.0)
    assert len(provider.requests) == sent
    assert type(ends[0]) is (Response if method == "GET" else LeadershipLost)


async def test_a_crash_can_happen_at_a_write_to_another_system() -> None:
    """A write to another system is a write like any other, and the process may crash there."""
    databases: list[Database] = []

    async def story(cluster: Cluster) -> None:
        await cluster.client.create(Member(meta("shop-2")))
        await cluster.eventually(lambda: [m for m in cluster.list(Member) if m.status.condition("Ready")])

    def operator(_: object) -> Operator:
        databases.append(Database())
        return members(databases[-1])

    writes = await survive_crashes(operator, story)
    assert "mongodb: add member shop-2" in writes
