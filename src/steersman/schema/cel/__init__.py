"""CEL, the language of validation rules, as Kubernetes 1.36 has it.

``compile_rules`` compiles the ``x-kubernetes-validations`` of one schema node; ``CompiledRules.check`` runs them on a
value. Walking a schema and its values, finding earlier values, and ratcheting belong to the caller.
``compile_expression`` is for everything else that is written in CEL.

Text becomes tokens (``lexer``), a tree (``parser``, ``macros``), a typed tree (``checker``, ``validators``), closures
that evaluate it exactly (``interpreter``) and, for the common rules, Python source that is faster (``fastpath``).
``cost`` estimates beforehand what ``metering`` counts while it runs. Functions live in ``library``.
"""

from steersman.schema.cel.budget import Budget
from steersman.schema.cel.errors import CostExceeded, EvaluationError, ExpressionError
from steersman.schema.cel.program import Program, compile_expression
from steersman.schema.cel.rule_compiler import compile_rules
from steersman.schema.cel.rule_errors import RuleCost, RuleError, total_cost_errors
from steersman.schema.cel.rules import ABSENT, CompiledRules, RuleFailure
from steersman.schema.cel.types import CelType

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
