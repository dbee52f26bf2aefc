"""PodDisruptionBudgets: evictions are allowed as long as enough pods stay healthy."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.errors import TooManyRequests
from steersman.kinds.core_v1 import Pod, PodCondition, PodSpec, PodStatus
from steersman.kinds.policy_v1 import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from steersman.localcluster.workloads import disruption_budgets, replica_sets
from steersman.localcluster.workloads.deployments import reconciler as deployments
from steersman.localcluster.workloads.disruption_budgets import EVICTION_TIMEOUT, budget_status
from steersman.objects.int_or_string import IntOrString
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import deployment, node_and, selector

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def budget(**spec: IntOrString) -> PodDisruptionBudget:
    """Return a budget for the pods of the app."""
    return PodDisruptionBudget(meta("web"), spec=PodDisruptionBudgetSpec(selector=selector(), **spec))  # type: ignore[arg-type]


def pods(ready: int, unready: int = 0) -> list[Pod]:
    """Return so many pods that are ready, and others that are not."""
    states = ["True"] * ready + ["False"] * unready
    return [
        Pod(
            meta(f"p{index}"),
            spec=PodSpec(containers=[]),
            status=PodStatus(conditions=[PodCondition(type="Ready", status=state)]),
        )
        for index, state in enumerate(states)
    ]


@pytest.mark.parametrize(
    ("spec", "ready", "unready", "scale", "expected"),
    [
        ({"min_available": 2}, 3, 0, 3, (3, 2, 3, 1)),
        ({"min_available": 2}, 2, 1, 3, (3, 2, 2, 0)),
        ({"min_available": "50%"}, 3, 0, 3, (3, 2, 3, 1)),
        ({"max_unavailable": 1}, 3, 0, 3, (3, 2, 3, 1)),
        ({"max_unavailable": "34%"}, 3, 0, 3, (3, 1, 3, 2)),
        # Pods that are still to come count as missing.
        ({"max_unavailable": 1}, 2, 0, 3, (3, 2, 2, 0)),
        ({"max_unavailable": 5}, 3, 0, 3, (3, 0, 3, 3)),
        ({"max_unavailable": 1}, 0, 0, 0, (0, 0, 0, 0)),
    ],
)
def test_so_many_may_go_that_enough_stay(
    spec: dict[str, IntOrString], ready: int, unready: int, scale: int, expected: tuple[int, int, int, int]
) -> None:
    """The numbers are those of Kubernetes' controller: percentages are of the wanted replicas, and round up."""
    status = budget_status(budget(**spec), pods(ready, unready), {"u": scale}, NOW)
    counted = (status.expected_pods, status.desired_healthy, status.current_healthy, status.disruptions_allowed)
    assert counted == expected


def test_an_evicted_pod_does_not_count_until_it_is_gone_or_stays_too_long() -> None:
    """Between the eviction and the end of the pod another eviction must not use the same disruption."""
    disrupted = budget(min_available=2)
    disrupted.status = PodDisruptionBudgetStatus(disrupted_pods={"p0": NOW, "gone": NOW})
    soon = budget_status(disrupted, pods(3), {}, NOW + timedelta(seconds=1))
    assert (soon.disrupted_pods, soon.disruptions_allowed) == ({"p0": NOW}, 0)
    late = budget_status(disrupted, pods(3), {}, NOW + EVICTION_TIMEOUT)
    assert (late.disrupted_pods, late.disruptions_allowed) == (None, 1)


async def test_evictions_follow_the_budget(cluster: Cluster, fake_clock: FakeClock) -> None:
    """`kubectl drain` goes on as soon as the replacement of an evicted pod is ready, and not before."""
    async with node_and(cluster, deployments.operator, replica_sets.operator, disruption_budgets.operator):
        await cluster.client.create(deployment(2))
        await cluster.client.create(budget(min_available=2))
        await fake_clock.advance(5)
        first = cluster.list(Pod)[0]
        with pytest.raises(TooManyRequests):
            await cluster.client.evict(first)
        await cluster.client.patch(await cluster.client.get(PodDisruptionBudget, "web"), {"spec": {"minAvailable": 1}})
        await fake_clock.advance(1)
        await cluster.client.evict(first)
        await fake_clock.advance(60)
        names = [pod.name for pod in cluster.list(Pod)]
        assert len(names) == 2
        assert first.name not in names
        status = (await cluster.client.get(PodDisruptionBudget, "web")).status
        assert (status.current_healthy, status.disruptions_allowed, status.disrupted_pods) == (2, 1, None)
