"""The operator with all its reconcilers and webhooks: importing a module registers them."""

from kubewatch import config_file
from kubewatch.operator import operator
from kubewatch.reconcilers import watcher_reconciler

__all__ = ["config_file", "operator", "watcher_reconciler"]
