"""PriorityClasses: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.common.documents import Document
from steersman.apiserver.builtin.strategy import BuiltinStrategy


def default_priority_class(obj: Document) -> None:
    """Fill in a PriorityClass."""
    set_default(obj, preemptionPolicy="PreemptLowerPriority")


class PriorityClassStrategy(BuiltinStrategy):
    """Kinds that stay at their first generation."""

    def is_new_generation(self, obj: Document, old: Document) -> bool:
        """Say no."""
        del obj, old
        return False
