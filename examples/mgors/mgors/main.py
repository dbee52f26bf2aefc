"""The operator with everything that it does."""

from mgors.operator import mgors_operator

operator = mgors_operator()
