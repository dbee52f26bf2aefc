from typing import Any

import pytest

from steersman.kinds.core_v1 import (
    Affinity,
    Container,
    Node,
    NodeAffinity,
    NodeCondition,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSchedulingGate,
    PodSpec,
    Taint,
    Toleration,
)
from steersman.localcluster.node_fit import refusal, unschedulable
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Refuse
from tests.localcluster.workloads.making import events_of, node_and


def node(name: str = "n", *, ready: bool = True, labels: dict[str, str] | None = None, **spec: Any) -> Node:
    """Return a node."""
    condition = NodeCondition(type="Ready", status="True" if ready else "False")
    return Node(meta(name, labels=labels or {}), spec=NodeSpec(**spec), status=NodeStatus(conditions=[condition]))


def pod(name: str = "a", **spec: Any) -> Pod:
    """Return a pod."""
    return Pod(meta(name), spec=PodSpec(containers=[Container(name="main", image="one")], **spec))


def wants(key: str, operator: str, *values: str, field: bool = False) -> Affinity:
    """Return a required affinity."""
    requirement = NodeSelectorRequirement(key=key, operator=operator, values=list(values) or None)
    term = NodeSelectorTerm(**{"match_fields" if field else "match_expressions": [requirement]})
    required = NodeSelector(node_selector_terms=[term])
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))


_MISMATCH = "node(s) didn't match Pod's node affinity/selector"
_TAINT = Taint(key="gpu", value="yes", effect="NoSchedule")


@pytest.mark.parametrize(
    ("wanted", "offered", "why"),
    [
        (pod(), node(), ""),
        (pod(node_selector={"disk": "fast"}), node(), _MISMATCH),
        (pod(node_selector={"disk": "fast"}), node(labels={"disk": "fast"}), ""),
        (pod(affinity=wants("disk", "NotIn", "slow")), node(labels={"disk": "slow"}), _MISMATCH),
        (pod(affinity=wants("cores", "Gt", "4")), node(labels={"cores": "8"}), ""),
        (pod(affinity=wants("metadata.name", "In", "other", field=True)), node(), _MISMATCH),
        (pod(), node(taints=[_TAINT]), "node(s) had untolerated taint(s) {gpu: yes}"),
        (pod(tolerations=[Toleration(key="gpu", value="yes", effect="NoSchedule")]), node(taints=[_TAINT]), ""),
        (pod(tolerations=[Toleration(operator="Exists")]), node(taints=[_TAINT]), ""),
        (pod(), node(taints=[Taint(key="old", effect="PreferNoSchedule")]), ""),
        (pod(), node(unschedulable=True), "node(s) were unschedulable"),
        (pod(), node(ready=False), "node(s) were not ready"),
    ],
)
def test_each_node_has_a_reason_for_not_fitting(wanted: Pod, offered: Node, why: str) -> None:
    """Users find it in the events of a pod that waits."""
    assert refusal(wanted, offered) == why


def test_reasons_are_counted_as_by_the_real_scheduler() -> None:
    """Users know this sentence, and tools search for it."""
    reasons = [_MISMATCH, "node(s) were unschedulable", _MISMATCH]
    assert unschedulable(reasons) == (f"0/3 nodes are available: 1 node(s) were unschedulable, 2 {_MISMATCH}.")
    assert unschedulable([]) == "no nodes available to schedule pods"


async def test_a_pod_waits_until_a_node_fits(cluster: Cluster, fake_clock: FakeClock) -> None:
    """It has the condition Unschedulable, and is bound by itself once a node has changed."""
    async with node_and(cluster):
        await cluster.client.create(pod(node_selector={"disk": "fast"}))
        await fake_clock.advance(1)
        found = await cluster.client.get(Pod, "a")
        (condition,) = [one for one in found.status.conditions or () if one.type == "PodScheduled"]
        assert (condition.status, condition.reason) == ("False", "Unschedulable")
        assert condition.message == f"0/1 nodes are available: 1 {_MISMATCH}."
        assert events_of(cluster, "Pod") == [f"FailedScheduling: {condition.message}"]
        there = await cluster.client.get(Node, "simulated")
        await cluster.client.patch(there, {"metadata": {"labels": {"disk": "fast"}}})
        await fake_clock.advance(1)
        found = await cluster.client.get(Pod, "a")
        assert (found.spec.node_name, found.status.phase) == ("simulated", "Running")
        assert events_of(cluster, "Pod")[-1] == "Scheduled: Successfully assigned default/a to simulated"


async def test_a_rejected_binding_is_retried(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A conflict means that the pod has changed, not that another scheduler bound it."""
    async with node_and(cluster):
        cluster.faults.inject(Refuse(409, "Conflict"), method="POST", path="/binding", times=2)
        await cluster.client.create(pod())
        await fake_clock.advance(5)
        assert (await cluster.client.get(Pod, "a")).spec.node_name == "simulated"


async def test_gates_and_other_schedulers_are_respected(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Pods with gates, or for other schedulers, must not be bound."""
    async with node_and(cluster):
        gated = await cluster.client.create(pod("gated", scheduling_gates=[PodSchedulingGate(name="example.com/wait")]))
        await cluster.client.create(pod("other", scheduler_name="mine"))
        await fake_clock.advance(1)
        assert {one.name: one.spec.node_name for one in cluster.list(Pod)} == {"gated": None, "other": None}
        await cluster.client.patch(gated, {"spec": {"schedulingGates": None}})
        await fake_clock.advance(1)
        assert (await cluster.client.get(Pod, "gated")).spec.node_name == "simulated"
