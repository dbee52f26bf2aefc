"""CEL, the expression language of Kubernetes, as in version 1.36: a separate library that knows no CRDs.

``compile_expression`` (`program`) compiles a text once; the `Program` is evaluated often. The stages, in order:
``syntax`` turns text into tokens and a tree, ``checking`` into a typed tree, ``evaluation`` into closures that evaluate
it exactly (`interpreter`) and, for the common rules, into faster Python source (`fastpath`). ``cost`` estimates before
an expression runs what it meters while it runs. The functions that an expression can call are in ``library``, the
values it computes with in ``values``. Start reading with `program`, then `evaluation.interpreter`.
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
