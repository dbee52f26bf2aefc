"""The operator with all its reconcilers and webhooks: importing a module registers them."""

from custompod.operator import operator
from custompod.reconcilers import custom_pod_reconciler

__all__ = ["custom_pod_reconciler", "operator"]
