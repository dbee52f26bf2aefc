"""CEL, the expression language of Kubernetes, as version 1.36 has it: a library of its own.

``compile_expression`` compiles a text once; the `Program` is evaluated often. Text becomes tokens and a tree
(``syntax``), a typed tree (``checking``), closures that evaluate it exactly and, for the common rules, faster Python
source (``evaluation``). ``cost`` estimates beforehand what it meters while an expression runs. The functions that an
expression can call are in ``library``, the values it computes with in ``values``.
"""

from steersman.cel.cost.budget import Budget
from steersman.cel.errors import CostExceeded, EvaluationError, ExpressionError
from steersman.cel.program import Program, compile_expression
from steersman.cel.types import CelType

__all__ = [
    "Budget",
    "CelType",
    "CostExceeded",
    "EvaluationError",
    "ExpressionError",
    "Program",
    "compile_expression",
]
