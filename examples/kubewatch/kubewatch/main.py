"""The operator with everything that it does: importing a module registers it."""

from kubewatch import config_file
from kubewatch.operator import operator
from kubewatch.reconcilers import watcher_reconciler

__all__ = ["config_file", "operator", "watcher_reconciler"]
