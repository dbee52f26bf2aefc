"""The operator with everything that it does: importing a reconciler registers it."""

from project.operator import operator
from project.reconcilers import project_reconciler

__all__ = ["operator", "project_reconciler"]
