"""PodDisruptionBudgets: strategy."""

from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.validation.object_meta import url_name_faults


class ConditionalUpdate(BuiltinStrategy):
    """Kinds that are only updated from the version that was read."""

    unconditional_update = False


class BudgetStrategy(ConditionalUpdate):
    """PodDisruptionBudgets: nobody looks at their names but whoever makes a URL of them."""

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about what no URL can carry."""
        return url_name_faults(name, prefix)
