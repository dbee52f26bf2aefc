"""PodDisruptionBudgets: how many pods may be evicted now.

The API server rejects evictions by what stands in the status, and counts each one down itself; this controller sets the
status right again when pods come, go, or become ready. `budget_status` is the rule, and pure.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from steersman.controller.context import Context
from steersman.controller.triggers import Chosen
from steersman.kinds.apps_v1 import Deployment, ReplicaSet, StatefulSet
from steersman.kinds.core_v1 import Pod
from steersman.kinds.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from steersman.localcluster.workloads.pods import is_active, is_ready, selector_of
from steersman.manager.operator import Operator
from steersman.objects.int_or_string import scaled
from steersman.objects.meta import Condition

#: How long a pod that was evicted is expected to go; then the eviction has failed, and the pod counts again.
EVICTION_TIMEOUT = timedelta(minutes=2)

operator = Operator("disruption-controller")


def _selects(budget: PodDisruptionBudget, pod: Any) -> bool:
    """Return whether a budget protects a pod; without a selector it protects none."""
    return budget.spec.selector is not None and selector_of(budget.spec.selector).matches(pod.labels)


def _selects_pods_of(budget: PodDisruptionBudget, workload: Any) -> bool:
    template = workload.spec.template
    labels = template.metadata.labels if template is not None and template.metadata is not None else {}
    return budget.spec.selector is not None and selector_of(budget.spec.selector).matches(labels)


@operator.reconciler(
    PodDisruptionBudget,
    watches=[
        Chosen(Pod, by=_selects),
        Chosen(Deployment, by=_selects_pods_of),
        Chosen(ReplicaSet, by=_selects_pods_of),
        Chosen(StatefulSet, by=_selects_pods_of),
    ],
    name="disruption-budgets",
)
async def reconcile(budget: PodDisruptionBudget, ctx: Context[PodDisruptionBudget]) -> None:
    """Count the pods of a budget and set how many of them may be evicted."""
    pods = []
    if budget.spec.selector is not None:
        pods = [pod for pod in await ctx.list(Pod, selector_of(budget.spec.selector)) if is_active(pod)]
    budget.status = budget_status(budget, pods, await _scales(pods, ctx), ctx.now())
    if disrupted := budget.status.disrupted_pods:
        ctx.requeue_after(max((min(disrupted.values()) + EVICTION_TIMEOUT - ctx.now()).total_seconds(), 0.0))


async def _scales(pods: Sequence[Pod], ctx: Context[PodDisruptionBudget]) -> dict[str, int]:
    """Return the wanted replicas of the workloads that control these pods, by the uid of the workload."""
    scales: dict[str, int] = {}
    for kind, name in dict.fromkeys((pod.controller.kind, pod.controller.name) for pod in pods if pod.controller):
        workload: ReplicaSet | StatefulSet | Deployment | None = None
        if kind == "StatefulSet":
            workload = await ctx.get(StatefulSet, name)
        elif kind == "ReplicaSet":
            workload = await ctx.get(ReplicaSet, name)
            if workload is not None and workload.controller is not None and workload.controller.kind == "Deployment":
                workload = await ctx.get(Deployment, workload.controller.name) or workload
        if workload is not None:
            scales[workload.uid] = 1 if workload.spec.replicas is None else workload.spec.replicas
    return scales


def budget_status(
    budget: PodDisruptionBudget, pods: Sequence[Pod], scales: Mapping[str, int], now: datetime
) -> PodDisruptionBudgetStatus:
    """Return the status of a budget with these pods, of workloads with these numbers of wanted replicas."""
    expected, desired = _expected_and_desired(budget.spec, len(pods), sum(scales.values()))
    names = {pod.name for pod in pods}
    disrupted = {
        name: since
        for name, since in (budget.status.disrupted_pods or {}).items()
        if name in names and since + EVICTION_TIMEOUT > now
    }
    healthy = sum(is_ready(pod) and pod.name not in disrupted for pod in pods)
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    return PodDisruptionBudgetStatus(
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        disruptions_allowed=allowed,
        disrupted_pods=disrupted or None,
        observed_generation=budget.metadata.generation,
        conditions=[_condition(budget, now, is_allowed=allowed > 0)],
    )


def _expected_and_desired(spec: PodDisruptionBudgetSpec, pods: int, scale: int) -> tuple[int, int]:
    """Return how many pods there should be, and how many of them must be healthy."""
    if spec.max_unavailable is not None:
        return scale, max(scale - scaled(spec.max_unavailable, scale, round_up=True), 0)
    if isinstance(spec.min_available, str):
        return scale, scaled(spec.min_available, scale, round_up=True)
    return pods, spec.min_available or 0


def _condition(budget: PodDisruptionBudget, now: datetime, *, is_allowed: bool) -> Condition:
    status: Literal["True", "False"] = "True" if is_allowed else "False"
    before = next((one for one in budget.status.conditions or () if one.type == "DisruptionAllowed"), None)
    same = before is not None and before.status == status
    return Condition(
        type="DisruptionAllowed",
        status=status,
        reason="SufficientPods" if is_allowed else "InsufficientPods",
        message="",
        observed_generation=budget.metadata.generation,
        last_transition_time=before.last_transition_time if same and before else now.replace(microsecond=0),
    )
