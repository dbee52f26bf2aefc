"""CEL, the language of validation rules, as Kubernetes 1.36 has it.

``compile_rules`` compiles the ``x-kubernetes-validations`` of one schema node; ``CompiledRules.check`` runs them on a
value. Walking a schema and its values, finding earlier values, and ratcheting belong to the caller.
``compile_expression`` is for everything else that is written in CEL.

Text becomes tokens (``lexer``), a tree (``parser``, ``macros``), a typed tree (``checker``, ``validators``), closures
that evaluate it exactly (``interpreter``) and, for the common rules, Python source that is faster (``fastpath``).
``cost`` estimates beforehand what ``metering`` counts while it runs. Functions live in ``library``.
"""

from steersman.cel.cost.budget import Budget
from steersman.cel.errors import CostExceeded, EvaluationError, ExpressionError
from steersman.cel.program import Program, compile_expression
from steersman.cel.types import CelType
from steersman.structural.cel_rules.compiler import compile_rules
from steersman.structural.cel_rules.errors import RuleCost, RuleError, total_cost_errors
from steersman.structural.cel_rules.rules import ABSENT, CompiledRules, RuleFailure

__all__ = [
    "ABSENT",
    "Budget",
    "CelType",
    "CompiledRules",
    "CostExceeded",
    "EvaluationError",
    "ExpressionError",
    "Program",
    "RuleCost",
    "RuleError",
    "RuleFailure",
    "compile_expression",
    "compile_rules",
    "total_cost_errors",
]
