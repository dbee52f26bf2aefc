"""Allow one backup or restore of a replica set at a time."""

from steersman.controller import ExclusiveWork

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore


def maintenance_of(cluster: str) -> ExclusiveWork[MgorsBackup | MgorsRestore]:
    """Return the work that a backup and a restore of a cluster exclude each other from."""
    return ExclusiveWork(f"mgors-{cluster}", [MgorsBackup, MgorsRestore], lambda one: not one.is_finished)
