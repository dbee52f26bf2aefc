"""Planned = done, on the embedded server and on a real kube-apiserver, and nothing but reads and dry runs leaves.

It needs a server without other controllers: what a Deployment's controller answers is not in a plan.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.json_types import JsonObject
from steersman.manager.definitions import definitions_of
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.planning import Plan, PlanOptions, make_plan
from steersman.planning.comparison import compare
from steersman.randomness import Randomness
from steersman.testing.eventually import eventually
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport
from steersman.transport.services import HttpServices
from tests.contract.servers import KUBECONFIG, Server
from tests.support.planned_examples import DRAWN, create_samples, operator_of, sample_sets, service_of
from tests.support.worlds import World, done, planned, running, without, world_of
from tools.examples import EXAMPLES, examples

AUDIT_LOG = os.environ.get("STEERSMAN_CONTRACT_AUDIT_LOG", "")

#: Looks at the objects without a change that count as rest, how many there are at most, and seconds between them.
QUIET_LOOKS, MOST_LOOKS, PAUSE = 5, 200, 0.1

needs_peace = pytest.mark.skipif(
    bool(os.environ.get("STEERSMAN_CONTRACT_CONTROLLERS")), reason="other controllers answer to what is done"
)


@asynccontextmanager
async def services_of(example: str) -> AsyncIterator[HttpServices]:
    """Serve the other systems of an example in this process."""
    clock = RealClock()
    services = HttpServices(clock)
    for url, app in service_of(example, clock).items():
        services.serve(url, app)
    try:
        yield services
    finally:
        await services.close()


async def install(client: Client, operator: Operator) -> None:
    """Install the definitions of an operator, without conversions: the server could not call this process."""
    for definition in definitions_of(operator.kinds):
        await client.wait_established(await client.apply(definition, force=True))


async def plan_of(client: Client, operator: Operator, services: HttpServices, **options: bool) -> Plan:
    """Plan an operator in the client's namespace."""
    chosen = PlanOptions(namespaces=(client.namespace,), definitions=False, hash_key=b"k", **options)
    return await make_plan([operator], client.transport, chosen, clock=RealClock(), services=services)


@needs_peace
@pytest.mark.parametrize("offline", [False, True], ids=["dry-run", "offline"])
@pytest.mark.parametrize(("example", "samples"), sample_sets())
async def test_what_is_planned_is_done(
    server: Server, example: str, samples: tuple[Path, ...], *, offline: bool
) -> None:
    """A plan that differs from what happens then is worse than none."""
    operator = operator_of(example)
    async with server.client() as client, services_of(example) as services:
        await install(client, operator)
        await create_samples(client, samples)
        before = await world_of(client, operator, client.namespace)
        plan = await plan_of(client, operator, services, offline=offline)
        assert not plan.failures, str(plan)
        again = await plan_of(client, operator, services, offline=offline)
        assert compare(plan.objects, again.objects) == ()
        assert await world_of(client, operator, client.namespace) == before
        options = ManagerOptions(namespaces=(client.namespace,))
        async with running(client, operator, options, services=services) as manager:
            after = await settled(client, operator, manager)
        assert without(DRAWN, planned(plan)) == without(DRAWN, done(before, after))


async def settled(client: Client, operator: Operator, manager: Manager) -> World:
    """Wait until the operator is idle and its objects have not changed for some looks."""
    clock, quiet = RealClock(), 0
    world = await world_of(client, operator, client.namespace)
    for _ in range(MOST_LOOKS):
        await clock.sleep(PAUSE)
        now = await world_of(client, operator, client.namespace)
        quiet = quiet + 1 if now == world and manager.is_idle else 0
        world = now
        if quiet == QUIET_LOOKS:
            return world
    raise AssertionError("the operator does not come to rest")


@pytest.mark.parametrize("example", examples())
async def test_an_installed_definition_is_no_change(server: Server, example: str) -> None:
    """The server has filled in defaults: a plan that took them for differences would never be empty."""
    operator = operator_of(example)
    async with server.client() as client, services_of(example) as services:
        await install(client, operator)
        chosen = PlanOptions(namespaces=(client.namespace,))
        plan = await make_plan([operator], client.transport, chosen, clock=RealClock(), services=services)
        assert plan.is_empty, str(plan)


# What leaves this process.


@pytest.mark.skipif(not AUDIT_LOG, reason="no STEERSMAN_CONTRACT_AUDIT_LOG")
@pytest.mark.parametrize("server", ["real"], indirect=True)
@pytest.mark.parametrize("example", examples())
async def test_only_reads_and_dry_runs_reach_a_real_server(server: Server, example: str) -> None:
    """The server's own log is the witness: no Lease, no Event, no write without ``dryRun=All``."""
    operator = operator_of(example)
    agent = f"planner-{Randomness().suffix(8)}"
    transport = HttpTransport(ClusterConfig.from_kubeconfig(KUBECONFIG), clock=RealClock(), user_agent=agent)
    async with server.client() as client, services_of(example) as services:
        await install(client, operator)
        await create_samples(client, tuple(sorted((EXAMPLES / example / "samples").glob("*.yaml"))))
        try:
            planner = Client(transport, namespace=client.namespace)
            plan = await plan_of(planner, operator, services)
        finally:
            await transport.close()
        assert plan.all_changes
    await eventually(lambda: len(requests_of(agent)) > 1, clock=RealClock(), within=20.0)
    requests = requests_of(agent)
    writes = [request for request in requests if request["verb"] not in ("get", "list", "watch")]
    assert writes
    assert [request["requestURI"] for request in writes if not is_dry(request)] == []


def requests_of(agent: str) -> list[JsonObject]:
    """Return the requests of a client from the audit log."""
    lines = Path(AUDIT_LOG).read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if agent in line]
    return [event for event in found if event.get("userAgent") == agent]


def is_dry(request: JsonObject) -> bool:
    """Return whether a request asked for a dry run, where the server looks for that."""
    if "dryRun=All" not in request["requestURI"]:
        return False
    return request["verb"] != "delete" or (request.get("requestObject") or {}).get("dryRun") == ["All"]
