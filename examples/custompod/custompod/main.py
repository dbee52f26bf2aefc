"""The operator with everything that it does: importing a reconciler registers it."""

from custompod.operator import operator
from custompod.reconcilers import custom_pod_reconciler

__all__ = ["custom_pod_reconciler", "operator"]
