"""The operator with all its reconcilers and webhooks: importing a module registers them."""

from foobar.api.foo_bar_v1beta1 import FooBarV1beta1
from foobar.operator import operator
from foobar.reconcilers import foo_bar_reconciler, foo_bar_task_reconciler

operator.declare(FooBarV1beta1)

__all__ = ["foo_bar_reconciler", "foo_bar_task_reconciler", "operator"]
