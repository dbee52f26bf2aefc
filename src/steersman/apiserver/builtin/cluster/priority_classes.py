"""PriorityClasses: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.json_types import JsonObject


def default_priority_class(obj: JsonObject) -> None:
    """Set the defaults of a PriorityClass."""
    set_default(obj, preemptionPolicy="PreemptLowerPriority")


class PriorityClassStrategy(BuiltinStrategy):
    """PriorityClasses, which stay at generation 1."""

    def is_new_generation(self, obj: JsonObject, old: JsonObject) -> bool:
        """Return false."""
        del obj, old
        return False
