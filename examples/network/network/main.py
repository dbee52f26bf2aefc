"""The operator with all its reconcilers and webhooks: importing a module registers them."""

from network.operator import operator
from network.reconcilers import network_reconciler

__all__ = ["network_reconciler", "operator"]
