"""The operator with everything that it does: importing a reconciler registers it."""

from foobar.operator import operator
from foobar.reconcilers import foo_bar_reconciler, foo_bar_task_reconciler

__all__ = ["foo_bar_reconciler", "foo_bar_task_reconciler", "operator"]
