"""Create the operator for real servers, or for those of a test."""

from collections.abc import Iterable
from pathlib import Path

from prometheus_client import Counter
from steersman import ObjectKey, Operator, Watch
from steersman.kinds.apps_v1 import Deployment, StatefulSet
from steersman.kinds.core_v1 import ConfigMap, Pod, Secret, Service
from steersman.kinds.policy_v1 import PodDisruptionBudget

from redisfailover.api.redis_failover_v1 import RedisFailover
from redisfailover.backup_runner import BackupRunner
from redisfailover.names import labels_of
from redisfailover.reconcilers.redis_failover_reconciler import RedisFailoverReconciler
from redisfailover.servers import Servers

#: Owned kinds. The operator never deletes them: the garbage collector does, with their owner.
_OWNED = (ConfigMap, Service, PodDisruptionBudget, StatefulSet, Deployment)


def redis_operator(servers: Servers, *, backups: Path | None = None) -> Operator:
    """Create the operator. Without a folder for backups, objects with a backup schedule report `NoFolder`."""
    operator = Operator("redisfailover")
    steps = Counter("redisfailover_steps", "Actions that were executed.", ["step"], registry=operator.metrics)
    runner = BackupRunner()
    operator.background(runner.run)
    reconciler = RedisFailoverReconciler(servers, runner, backups, lambda step: steps.labels(step).inc())
    watches = [Watch(Pod, to=to_failover)]
    operator.reconciler(RedisFailover, owns=_OWNED, watches=watches, workers=4)(reconciler.reconcile)
    operator.permit(Pod, "patch", "delete")
    operator.permit(Secret, "get", "create", "patch")
    for kind in _OWNED:
        operator.decline(kind, "delete")
    return operator


def to_failover(pod: Pod) -> Iterable[ObjectKey]:
    """Yield the key of the RedisFailover that a pod belongs to, by its labels."""
    name = pod.labels.get("app.kubernetes.io/name", "")
    component = pod.labels.get("app.kubernetes.io/component", "")
    if labels_of(name, component).items() <= pod.labels.items():
        yield ObjectKey(pod.namespace, name)
