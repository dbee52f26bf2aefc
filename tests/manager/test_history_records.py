"""What is remembered beside reconciles: reviews of webhooks, leadership, objects that do not decode, stopped runs."""

import asyncio

import pytest

from steersman import (
    Admission,
    Context,
    Deny,
    Invalid,
    Model,
    Operator,
    Resource,
    Status,
    Unstructured,
    custom_resource,
    meta,
)
from steersman.concurrency import background
from steersman.history.records import MALFORMED, ObjectName, Result
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.testing import Cluster
from tests.support.widgets import DEFINITION, Widget

CANARY = "kanarienvogel-4711"


class LimitSpec(Model):
    """A request of a user."""

    limit: int = 0
    text: str = ""


@custom_resource("limits.example.com/v1")
class Limit(Resource[LimitSpec, Status]):
    """The limit of a user."""


async def test_a_review_is_remembered_with_its_answer(cluster: Cluster) -> None:
    """It tells why a write was rejected, and which webhook makes every write slow."""
    operator = Operator("limits")
    operator.permit(Secret, "get")

    @operator.reconciler(Limit)
    async def reconcile(_: Limit, ctx: Context[Limit]) -> None:
        await ctx.get(Secret, "seal")

    @operator.validate(Limit)
    def positive(limit: Limit, _: Admission[Limit]) -> None:
        if limit.spec.limit < 0:
            raise Deny(f"must not be negative, nor be {limit.spec.text}", field="spec.limit")

    async with cluster.running(operator) as manager:
        await cluster.client.create(Secret(meta("seal"), data={"key": CANARY.encode()}))
        await cluster.client.create(Limit(meta("good"), LimitSpec(limit=1)))
        await cluster.settle()
        with pytest.raises(Invalid):
            await cluster.client.create(Limit(meta("bad"), LimitSpec(limit=-1, text=CANARY)))
        calls = manager.history.calls()
        text = manager.metrics.text().decode()
    good = ObjectName("Limit", "default", "good", "limits.example.com")
    assert (calls[0].object, calls[0].operation, calls[0].status, calls[0].is_allowed) == (good, "CREATE", 200, True)
    assert (calls[-1].is_allowed, "must not be negative" in calls[-1].message) == (False, True)
    assert CANARY not in repr(calls)
    assert f'controller_runtime_webhook_requests_total{{code="200",webhook="{calls[0].webhook}"}}' in text


async def test_leadership_is_remembered_when_it_begins_and_ends() -> None:
    """Two replicas that take turns explain what no reconcile does."""
    operator = Operator("limits")

    @operator.reconciler(ConfigMap)
    async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
        """Do nothing."""

    options = ManagerOptions(election=ElectionOptions(name="op", namespace="default", identity="replica-1"))
    async with Cluster.start() as cluster:
        manager = Manager([operator], cluster.transport, options, clock=cluster.clock)
        async with background(manager.run(), name="manager"):
            await manager.wait_ready()
            text = manager.metrics.text().decode()
    began, ended = manager.history.leadership()
    assert 'leader_election_master_status{name="op"} 1.0' in text
    assert (began.is_leader, began.lease, began.identity) == (True, "default/op", "replica-1")
    assert (ended.is_leader, ended.reason) == (False, "stopping")
    assert 'leader_election_master_status{name="op"} 0.0' in manager.metrics.text().decode()


async def test_an_object_that_does_not_decode_is_remembered_and_counted(cluster: Cluster) -> None:
    """It is never reconciled: without a record, ``steer why`` could only say that."""
    operator = Operator("widgets")

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Context[Widget]) -> None:
        """Do nothing."""

    bad = {"apiVersion": "runtime.example.com/v1", "kind": "Widget", "spec": {"size": "large"}}
    async with cluster.running(operator, options=ManagerOptions(definitions=[DEFINITION])) as manager:
        await cluster.client.create(Unstructured({**bad, "metadata": {"name": "a", "namespace": "default"}}))
        await cluster.settle()
        view = manager.introspection.view(ObjectName("Widget", "default", "a"))
        text = manager.metrics.text().decode()
    assert (view.reconciles[-1].result, view.reconciles[-1].reason) == (Result.GAVE_UP, MALFORMED)
    assert "size" in view.reconciles[-1].message
    assert 'steersman_malformed_objects_total{controller="widget"} 1.0' in text
    assert 'controller_runtime_reconcile_total{controller="widget",result="error"} 0.0' in text


async def test_a_run_that_is_cut_off_is_remembered(cluster: Cluster) -> None:
    """What an operator did last before it was stopped is what its successor has to finish."""
    operator, began = Operator("limits"), list[str]()

    @operator.reconciler(Limit)
    async def reconcile(limit: Limit, __: Context[Limit]) -> None:
        began.append(limit.name)
        await asyncio.get_running_loop().create_future()

    async with cluster.running(operator, options=ManagerOptions(grace=0.01)) as manager:
        await cluster.client.create(Limit(meta("a")))
        await cluster.eventually(lambda: began)
    [run] = manager.history.of(ObjectName("Limit", "default", "a", "limits.example.com"))
    assert run.result is Result.STOPPED
    assert (
        'controller_runtime_reconcile_total{controller="limit",result="error"} 1.0' in manager.metrics.text().decode()
    )
