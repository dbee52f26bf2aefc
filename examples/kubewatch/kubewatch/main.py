"""The operator with everything that it does: importing a reconciler registers it."""

from kubewatch.operator import operator
from kubewatch.reconcilers import watcher_reconciler

__all__ = ["operator", "watcher_reconciler"]
