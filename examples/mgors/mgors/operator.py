"""Create the operator: its reconcilers, their watches, and further permissions."""

from steersman import Operator, Watch
from steersman.controller import generation_changed
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap, PersistentVolumeClaim, Pod, Secret, Service
from steersman.kinds.policy_v1 import PodDisruptionBudget

from mgors.api.mgors_archive_v1 import MgorsArchive
from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors
from mgors.connections import Dial, directly
from mgors.metrics import Metrics
from mgors.names import CLUSTER
from mgors.reconcilers.mgors_archive_reconciler import MgorsArchiveReconciler
from mgors.reconcilers.mgors_backup_reconciler import MgorsBackupReconciler
from mgors.reconcilers.mgors_reconciler import MgorsReconciler
from mgors.reconcilers.mgors_restore_reconciler import MgorsRestoreReconciler

_OWNED = (StatefulSet, Service, ConfigMap, PodDisruptionBudget)


def cluster_of_pod(pod: Pod) -> list[str]:
    """Return the key of the replica set that a pod belongs to."""
    name = pod.metadata.labels.get(CLUSTER)
    return [f"{pod.namespace}/{name}"] if name else []


def cluster_of(obj: MgorsBackup | MgorsRestore) -> list[str]:
    """Return the key of the replica set that a backup or restore is of."""
    return [f"{obj.namespace}/{obj.spec.cluster_name}"]


def archive_of_cluster(mgors: Mgors) -> list[str]:
    """Return the key of the archive of a replica set."""
    return [f"{mgors.namespace}/{mgors.name}"]


def mgors_operator(*, dial: Dial = directly) -> Operator:
    """Create the operator. It connects to members at the address that ``dial`` returns."""
    operator = Operator("mgors")
    sets = MgorsReconciler(dial, Metrics(operator.metrics))
    operator.reconciler(
        Mgors,
        owns=_OWNED,
        watches=[Watch(Pod, cluster_of_pod), Watch(MgorsBackup, cluster_of), Watch(MgorsRestore, cluster_of)],
        workers=4,
    )(sets.reconcile).cleanup(sets.cleanup)
    backups = MgorsBackupReconciler(dial)
    operator.reconciler(MgorsBackup, workers=2)(backups.reconcile).cleanup(backups.cleanup)
    restores = MgorsRestoreReconciler(dial)
    operator.reconciler(MgorsRestore, workers=2)(restores.reconcile).cleanup(restores.cleanup)
    archives = MgorsArchiveReconciler(dial)
    operator.reconciler(MgorsArchive, watches=[Watch(Mgors, archive_of_cluster, when=generation_changed)], workers=2)(
        archives.reconcile
    ).cleanup(archives.cleanup)
    # Secrets and disks are read by name, never listed or watched.
    operator.permit(Secret, "get", "create", "patch")
    operator.permit(PersistentVolumeClaim, "get", "patch", "delete")
    operator.permit(Lease, "get", "create", "delete")
    operator.permit(Pod, "delete")
    operator.permit(MgorsBackup, "create", "delete")
    operator.permit(MgorsArchive, "create")
    # The garbage collector deletes these with their owner.
    operator.decline(Service, "delete")
    operator.decline(ConfigMap, "delete")
    operator.decline(PodDisruptionBudget, "delete")
    return operator
