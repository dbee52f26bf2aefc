"""ReplicationControllers: what ReplicaSets were called before, with a selector of plain labels."""

from datetime import datetime
from typing import Any

from steersman.controller.context import Context
from steersman.controller.predicates import always
from steersman.errors import Retry
from steersman.kinds.core_v1 import (
    Pod,
    ReplicationController,
    ReplicationControllerCondition,
    ReplicationControllerStatus,
)
from steersman.localcluster.workloads.claiming import claimed, orphans
from steersman.localcluster.workloads.pods import is_active, is_available, is_ready, next_available
from steersman.localcluster.workloads.replica_sets import manage_pods
from steersman.manager.operator import Operator
from steersman.objects.selectors import LabelSelector

operator = Operator("replication-controller")


def _selector(controller: ReplicationController) -> LabelSelector:
    return LabelSelector.from_expressions(controller.spec.selector, None)


def _selects(controller: ReplicationController, pod: Any) -> bool:
    return bool(controller.spec.selector) and _selector(controller).matches(pod.labels)


# Every change counts: a status that another client wrote is corrected.
@operator.reconciler(
    ReplicationController, owns=[Pod], watches=[orphans(Pod, _selects)], when=always, while_deleting=True
)
async def reconcile(controller: ReplicationController, ctx: Context[ReplicationController]) -> None:
    """Create or delete pods until there are as many as wanted, and count them."""
    spec = controller.spec
    pods = await claimed(controller, ctx, Pod, _selector(controller))
    active = [pod for pod in pods if is_active(pod)]
    wanted = 1 if spec.replicas is None else spec.replicas
    failure = None if controller.is_deleting else await manage_pods(controller, wanted, spec.template, active, ctx)
    now = ctx.now()
    reason = "" if failure is None else "FailedCreate" if len(active) < wanted else "FailedDelete"
    controller.status = _status(controller, active, now, reason=reason, failure=failure)
    if failure is not None:
        raise Retry(f"{reason}: {failure}") from failure
    wait = next_available(active, spec.min_ready_seconds, now)
    if wait is not None:
        ctx.requeue_after(wait)


def _status(
    controller: ReplicationController, active: list[Pod], now: datetime, *, reason: str, failure: BaseException | None
) -> ReplicationControllerStatus:
    template, seconds = controller.spec.template, controller.spec.min_ready_seconds
    labels = template.metadata.labels if template is not None and template.metadata is not None else {}
    return ReplicationControllerStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(labels.items() <= pod.labels.items() for pod in active) or None,
        ready_replicas=sum(is_ready(pod) for pod in active) or None,
        available_replicas=sum(is_available(pod, seconds, now) for pod in active) or None,
        observed_generation=controller.metadata.generation,
        conditions=None if failure is None else [_failed(controller.status, now, reason, failure)],
    )


def _failed(
    before: ReplicationControllerStatus, now: datetime, reason: str, failure: BaseException
) -> ReplicationControllerCondition:
    old = next((one for one in before.conditions or () if one.type == "ReplicaFailure"), None)
    since = old.last_transition_time if old is not None and old.reason == reason else now.replace(microsecond=0)
    return ReplicationControllerCondition(
        type="ReplicaFailure", status="True", reason=reason, message=str(failure), last_transition_time=since
    )
