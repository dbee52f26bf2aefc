"""The operator with everything that it does: importing a reconciler registers it."""

from mgors.operator import operator
from mgors.reconcilers import mgors_backup_reconciler, mgors_reconciler, mgors_restore_reconciler

__all__ = ["mgors_backup_reconciler", "mgors_reconciler", "mgors_restore_reconciler", "operator"]
