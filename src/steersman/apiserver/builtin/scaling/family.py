"""Registration of HorizontalPodAutoscalers and PodDisruptionBudgets."""

from steersman.apiserver.builtin.kind import BuiltinKind
from steersman.apiserver.builtin.scaling.autoscalers import AutoscalerStrategy
from steersman.apiserver.builtin.scaling.budgets import BudgetStrategy

KINDS = (
    BuiltinKind(
        "autoscaling",
        "HorizontalPodAutoscaler",
        strategy=AutoscalerStrategy,
        validation="scaling.autoscaler_validation:autoscaler_errors",
        columns="scaling.columns:HORIZONTAL_POD_AUTOSCALER",
        stored_as="horizontalpodautoscalers.autoscaling",
        stored_version="v2",
    ),
    BuiltinKind(
        "policy",
        "PodDisruptionBudget",
        strategy=BudgetStrategy,
        validation="scaling.budget_validation:budget_errors",
        columns="scaling.columns:POD_DISRUPTION_BUDGET",
        counts_generations=True,
    ),
)
