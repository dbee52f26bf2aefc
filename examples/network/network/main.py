"""The operator with everything that it does: importing a reconciler registers it."""

from network.operator import operator
from network.reconcilers import network_reconciler

__all__ = ["network_reconciler", "operator"]
