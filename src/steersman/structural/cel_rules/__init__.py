"""CEL rules of a schema node (``x-kubernetes-validations``).

``compile_rules`` compiles the rules of one node; ``CompiledRules.check`` evaluates them on a value. Walking a schema
and its values, finding earlier values, and ratcheting belong to the caller.
"""

from steersman.structural.cel_rules.compiler import compile_rules
from steersman.structural.cel_rules.errors import RuleCost, RuleError, total_cost_errors
from steersman.structural.cel_rules.rules import CompiledRules, RuleFailure

__all__ = [
    "CompiledRules",
    "RuleCost",
    "RuleError",
    "RuleFailure",
    "compile_rules",
    "total_cost_errors",
]
