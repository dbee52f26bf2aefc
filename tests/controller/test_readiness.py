"""Ordered children: when a child is ready, and how a run waits for that; and the conditions of kstatus."""

from typing import Any

import pytest

from steersman.controller.context import Context
from steersman.controller.owned import Owned
from steersman.controller.readiness import readiness
from steersman.errors import Permanent, Retry
from steersman.kinds.core_v1 import ConfigMap, Container, Pod, PodSpec
from steersman.kinds.events_v1 import Event
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.support.widgets import DEFINITION, Widget, WidgetSpec

OPTIONS = ManagerOptions(definitions=[DEFINITION])
POD = PodSpec(containers=[Container(name="main", image="none")])
Ctx = Context[Widget]


def condition(type_: str, status: str = "True", **more: str) -> dict[str, Any]:
    """Return a condition."""
    return {"type": type_, "status": status, **more}


def deployment(**status: Any) -> dict[str, Any]:
    """Return a Deployment of three replicas with a status."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "generation": 2},
        "spec": {"replicas": 3},
        "status": status,
    }


def an(kind: str, spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """Return an object of a kind, written as ``group/version/Kind``."""
    api_version, _, name = kind.rpartition("/")
    return {"apiVersion": api_version, "kind": name, "metadata": {"name": "a"}, "spec": spec or {}, "status": status}


TOO_SLOW = condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="too slow")
FULL, SLOW = condition("PodScheduled", "False", message="full"), condition("Ready", "False", message="slow")
WHOLE = {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
SET = "apps/v1/StatefulSet"
ON_DELETE = {"replicas": 2, "updateStrategy": {"type": "OnDelete"}}
PARTITION = {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}}


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (deployment(**WHOLE), ""),
        (deployment(), "has no status yet"),
        (deployment(**{**WHOLE, "observedGeneration": 1}), "generation 2 was not seen by its controller yet"),
        (deployment(**{**WHOLE, "updatedReplicas": 1}), "1 of 3 replicas are up to date"),
        (deployment(**{**WHOLE, "replicas": 4}), "1 old replicas still run"),
        (deployment(**{**WHOLE, "availableReplicas": 2}), "2 of 3 replicas are available"),
        (
            deployment(observedGeneration=2, conditions=[TOO_SLOW]),
            "too slow",
        ),
        (an(SET, {"replicas": 2}, observedGeneration=1, readyReplicas=1), "1 of 2 replicas are ready"),
        (
            an(SET, {"replicas": 2}, observedGeneration=1, readyReplicas=2, currentRevision="a", updateRevision="b"),
            "0 of 2 replicas are up to date",
        ),
        (an(SET, ON_DELETE, observedGeneration=1, readyReplicas=2, currentRevision="a", updateRevision="b"), ""),
        (an(SET, PARTITION, observedGeneration=1, readyReplicas=3, updatedReplicas=1), ""),
        (an("apps/v1/ReplicaSet", {"replicas": 1}), "0 of 1 replicas are available"),
        (an("apps/v1/DaemonSet", observedGeneration=1, desiredNumberScheduled=0), ""),
        (
            an("apps/v1/DaemonSet", observedGeneration=1, desiredNumberScheduled=2, updatedNumberScheduled=2),
            "0 of 2 pods are available",
        ),
        (an("batch/v1/Job"), "has not completed yet"),
        (an("batch/v1/Job", conditions=[condition("Complete")]), ""),
        (an("batch/v1/Job", conditions=[condition("Failed", message="no luck")]), "failed: no luck"),
        (an("v1/Pod", phase="Pending", conditions=[FULL]), "is Pending: full"),
        (an("v1/Pod", phase="Running", conditions=[condition("Ready")]), ""),
        (an("v1/Pod", phase="Running", conditions=[SLOW]), "Ready is False: slow"),
        (an("v1/Pod", phase="Succeeded"), ""),
        (an("v1/PersistentVolumeClaim", phase="Pending"), "is Pending, not Bound"),
        (an("v1/PersistentVolumeClaim", phase="Bound"), ""),
        (an("v1/Service", {"type": "ClusterIP"}), ""),
        (an("v1/Service", {"type": "LoadBalancer"}), "has no address of a load balancer yet"),
        (an("v1/Service", {"type": "LoadBalancer"}, loadBalancer={"ingress": [{"ip": "192.0.2.1"}]}), ""),
        (an("apiextensions.k8s.io/v1/CustomResourceDefinition"), "has no condition Established yet"),
        (an("v1/ConfigMap"), ""),
        (an("example.com/v1/Thing", conditions=[condition("Ready", "False", reason="Busy")]), "Ready is False: Busy"),
        (an("example.com/v1/Thing", conditions=[condition("Reconciling", message="at it")]), "Reconciling: at it"),
        (an("example.com/v1/Thing", conditions=[condition("Stalled"), condition("Ready")]), "Stalled: no reason"),
        (an("example.com/v1/Thing", conditions=[condition("Ready")]), ""),
        ({**an("v1/ConfigMap"), "metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}, "is being deleted"),
    ],
)
def test_each_kind_is_ready_by_its_own_rule(obj: dict[str, Any], message: str) -> None:
    """The rule that a person applies; an empty message means that it is ready."""
    assert readiness(obj) == (not message, message)


def test_a_kind_that_reports_conditions_is_not_ready_before_the_first() -> None:
    """A new object, of which its operator has not heard yet, has no conditions."""
    new = an("example.com/v1/Thing")
    assert readiness(new, has_conditions=True) == (False, "has no condition Ready yet")
    assert readiness(an("example.com/v1/Thing", conditions=[condition("Synced")]), condition="Synced").is_ready


def ordered(*, thin: bool = False) -> tuple[Operator, list[str]]:
    """Return an operator that needs a ready pod before it writes a ConfigMap, and the list of its runs."""
    operator, runs = Operator("ordered"), list[str]()

    @operator.reconciler(Widget, owns=[Owned(Pod, metadata_only=thin), ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        runs.append(widget.name)
        pod = await ctx.apply(Pod(meta(f"{widget.name}-first"), spec=POD))
        await ctx.ready(pod)
        await ctx.apply(ConfigMap(meta(f"{widget.name}-second")))
        ctx.condition("Ready", status=True, reason="Served")

    return operator, runs


@pytest.mark.usefixtures("fake_clock")
@pytest.mark.parametrize("thin", [False, True])
async def test_the_second_child_waits_quietly_for_the_first(cluster: Cluster, *, thin: bool) -> None:
    """Waiting is not a failure: no event, no retries, and one run for each change of the child."""
    operator, runs = ordered(thin=thin)
    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        ready = cluster.list(Widget)[0].status.condition("Ready")
        assert (ready.status, ready.reason) == ("False", "PodNotReady")
        assert ready.message == "is Pending (waiting for Pod default/a-first)"
        assert cluster.list(ConfigMap, namespace="default") == []
        assert len(runs) <= 2, "it runs again and again while nothing changes"
        runs.clear()
        pod = await cluster.client.get(Pod, "a-first")
        pod = await cluster.client.patch(pod, {"metadata": {"labels": {"x": "y"}}})
        await cluster.settle()
        assert runs == ["a"]
        status = {"phase": "Running", "conditions": [condition("Ready")]}
        await cluster.client.status.patch(pod, {"status": status})
        await cluster.settle()
        assert [one.name for one in cluster.list(ConfigMap, namespace="default")] == ["a-second"]
        assert cluster.list(Widget)[0].status.condition("Ready").reason == "Served"
        assert [event async for event in cluster.client.list(Event)] == []
        assert cluster.failures == []


@pytest.mark.usefixtures("fake_clock")
async def test_a_child_that_does_not_exist_is_waited_for(cluster: Cluster) -> None:
    """An intent that was never applied, or a child that was deleted meanwhile."""
    operator = Operator("absent")

    @operator.reconciler(Widget, owns=[Pod])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        await ctx.ready(Pod(meta("of-another"), spec=POD))
        widget.status.size = 1

    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        message = cluster.list(Widget)[0].status.condition("Ready").message
        assert message == "does not exist yet (waiting for Pod default/of-another)"
        pod = await cluster.client.create(Pod(meta("of-another"), spec=POD))
        await cluster.client.status.patch(pod, {"status": {"phase": "Succeeded"}})
        await cluster.settle()
        assert cluster.list(Widget)[0].status.size == 1


async def test_the_authors_own_message_about_a_wait_is_kept(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The author knows better than the rule what the wait is for."""
    operator = Operator("telling")

    @operator.reconciler(Widget, owns=[Pod])
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        ctx.condition("Ready", status=False, reason="Starting", message="the database starts")
        await ctx.ready(await ctx.apply(Pod(meta("db"), spec=POD)))

    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await fake_clock.advance(1)
        assert cluster.list(Widget)[0].status.condition("Ready").message == "the database starts"


# The conditions of kstatus.


def kstatus_operator() -> Operator:
    """Return an operator whose runs end as the size of the widget says."""
    operator = Operator("kstatus")

    @operator.reconciler(Widget, owns=[Pod], kstatus=True)
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        match widget.spec.size:
            case 1:
                await ctx.ready(await ctx.apply(Pod(meta("db"), spec=POD)))
            case 2:
                raise Retry("not there yet", after=60)
            case 3:
                raise Permanent("TooLarge", "spec.size: 3 is too large")
            case 4:
                ctx.condition("Ready", status=False, reason="Degraded", message="one of two")
            case 5:
                raise RuntimeError("broken")

    return operator


async def test_kstatus_conditions_follow_the_outcome_of_each_run(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Tools that know nothing of the operator can wait for its objects: kubectl wait, kstatus, Flux, Argo CD."""

    def shown() -> dict[str, tuple[str, str]]:
        (widget,) = cluster.list(Widget)
        return {one.type: (one.status, one.reason) for one in widget.status.conditions}

    async def resize(size: int) -> dict[str, tuple[str, str]]:
        await cluster.client.patch(cluster.list(Widget)[0], {"spec": {"size": size}})
        await fake_clock.advance(5)
        return shown()

    async with cluster.running(kstatus_operator(), options=OPTIONS, expect_failures=RuntimeError):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        fine = {"Ready": ("True", "Succeeded")}
        assert shown() == fine
        assert await resize(1) == {"Ready": ("False", "PodNotReady"), "Reconciling": ("True", "PodNotReady")}
        assert await resize(0) == fine
        assert await resize(2) == {"Ready": ("False", "Retrying"), "Reconciling": ("True", "Retrying")}
        assert await resize(3) == {"Ready": ("False", "TooLarge"), "Stalled": ("True", "TooLarge")}
        assert await resize(4) == {"Ready": ("False", "Degraded"), "Reconciling": ("True", "Degraded")}
        assert await resize(0) == fine
        assert await resize(5) == {
            "Ready": ("False", "ReconcileFailed"),
            "Reconciling": ("True", "ReconcileFailed"),
        }
        assert await resize(0) == fine
        (widget,) = cluster.list(Widget)
        assert widget.status.observed_generation == widget.generation
