"""The operator with all its reconcilers and webhooks: importing a module registers them."""

from project.operator import operator
from project.reconcilers import project_reconciler

__all__ = ["operator", "project_reconciler"]
