"""The operator with all its reconcilers and webhooks: importing a module registers them."""

from samplecontroller.operator import operator
from samplecontroller.reconcilers import foo_reconciler

__all__ = ["foo_reconciler", "operator"]
