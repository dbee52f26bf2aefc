"""ReplicaSets: as many pods of a template as wanted."""

from datetime import datetime
from typing import Any, TypeVar

from steersman.controller.context import Context
from steersman.errors import Retry
from steersman.kinds.apps_v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetStatus
from steersman.kinds.core_v1 import Pod, PodTemplateSpec
from steersman.localcluster.workloads.batches import slow_start
from steersman.localcluster.workloads.claiming import claimed, orphans
from steersman.localcluster.workloads.pods import (
    by_dispensability,
    is_active,
    is_available,
    is_finished,
    is_ready,
    next_available,
    pod_from,
    selector_of,
)
from steersman.manager.operator import Operator
from steersman.objects.resource import KubeObject

O = TypeVar("O", bound=KubeObject)  # noqa: E741 - the owner

#: How many pods one run makes or deletes at most.
BURST = 500

operator = Operator("replicaset-controller")


def _selects(replica_set: ReplicaSet, pod: Any) -> bool:
    return selector_of(replica_set.spec.selector).matches(pod.labels)


@operator.reconciler(ReplicaSet, owns=[Pod], watches=[orphans(Pod, _selects)], while_deleting=True, workers=2)
async def reconcile(replica_set: ReplicaSet, ctx: Context[ReplicaSet]) -> None:
    """Create or delete pods until there are as many as wanted, and count them."""
    pods = await claimed(replica_set, ctx, Pod, selector_of(replica_set.spec.selector))
    active = [pod for pod in pods if is_active(pod)]
    spec = replica_set.spec
    wanted = 1 if spec.replicas is None else spec.replicas
    failure = None if replica_set.is_deleting else await manage_pods(replica_set, wanted, spec.template, active, ctx)
    now = ctx.now()
    reason = "" if failure is None else "FailedCreate" if len(active) < wanted else "FailedDelete"
    replica_set.status = status_of(replica_set, pods, now, reason=reason, failure=failure)
    if failure is not None:
        raise Retry(f"{reason}: {failure}") from failure
    wait = next_available(active, replica_set.spec.min_ready_seconds, now)
    if wait is not None:
        ctx.requeue_after(wait)


async def manage_pods(
    owner: O, wanted: int, template: PodTemplateSpec | None, active: list[Pod], ctx: Context[O]
) -> BaseException | None:
    """Create or delete the difference to the wanted number of pods; return the first failure."""
    missing = wanted - len(active)
    prefix = f"{owner.name}-"

    async def create(_: int) -> None:
        try:
            pod = await ctx.create(pod_from(template or PodTemplateSpec(), prefix=prefix))
        except Exception as error:
            ctx.event("FailedCreate", f"Error creating: {error}", kind="Warning")
            raise
        ctx.event("SuccessfulCreate", f"Created pod: {pod.name}")

    surplus = by_dispensability(active, ctx.now())[: min(max(-missing, 0), BURST)]

    async def delete(number: int) -> None:
        await ctx.delete(surplus[number])
        ctx.event("SuccessfulDelete", f"Deleted pod: {surplus[number].name}")

    if missing > 0:
        return await slow_start(min(missing, BURST), create)
    return await slow_start(len(surplus), delete)


def status_of(
    replica_set: ReplicaSet, pods: list[Pod], now: datetime, *, reason: str = "", failure: BaseException | None = None
) -> ReplicaSetStatus:
    """Return the status of a ReplicaSet with these pods, without the changes of this run."""
    active = [pod for pod in pods if is_active(pod)]
    template = replica_set.spec.template
    labels = template.metadata.labels if template is not None and template.metadata is not None else {}
    seconds = replica_set.spec.min_ready_seconds
    return ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(labels.items() <= pod.labels.items() for pod in active) or None,
        ready_replicas=sum(is_ready(pod) for pod in active) or None,
        available_replicas=sum(is_available(pod, seconds, now) for pod in active) or None,
        terminating_replicas=sum(pod.is_deleting and not is_finished(pod) for pod in pods),
        observed_generation=replica_set.metadata.generation,
        conditions=_conditions(replica_set.status, now, reason, failure),
    )


def _conditions(
    before: ReplicaSetStatus, now: datetime, reason: str, failure: BaseException | None
) -> list[ReplicaSetCondition] | None:
    if failure is None:
        return None
    old = next((one for one in before.conditions or () if one.type == "ReplicaFailure"), None)
    since = old.last_transition_time if old is not None and old.reason == reason else now.replace(microsecond=0)
    return [
        ReplicaSetCondition(
            type="ReplicaFailure", status="True", reason=reason, message=str(failure), last_transition_time=since
        )
    ]
