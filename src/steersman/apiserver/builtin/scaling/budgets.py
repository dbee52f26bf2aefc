"""PodDisruptionBudgets: strategy."""

from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.validation.object_meta import url_name_faults


class BudgetStrategy(BuiltinStrategy):
    """PodDisruptionBudgets, whose names may be any path segment and which are updated only with a resource version."""

    unconditional_update = False

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Return an error for a name that cannot be a path segment of a URL."""
        return url_name_faults(name, prefix)
