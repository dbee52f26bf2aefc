"""The operator with all its reconcilers."""

from mgors.operator import mgors_operator

operator = mgors_operator()
