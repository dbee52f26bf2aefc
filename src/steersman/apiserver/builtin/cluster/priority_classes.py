"""PriorityClasses: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.common.documents import Document
from steersman.apiserver.builtin.strategy import BuiltinStrategy


def default_priority_class(obj: Document) -> None:
    """Set the defaults of a PriorityClass."""
    set_default(obj, preemptionPolicy="PreemptLowerPriority")


class PriorityClassStrategy(BuiltinStrategy):
    """PriorityClasses, which stay at generation 1."""

    def is_new_generation(self, obj: Document, old: Document) -> bool:
        """Return false."""
        del obj, old
        return False
