"""The operator with everything that it does: importing a reconciler registers it."""

from samplecontroller.operator import operator
from samplecontroller.reconcilers import foo_reconciler

__all__ = ["foo_reconciler", "operator"]
