"""Fields of objects and keys of maps, also of optional ones."""

from steersman.cel.errors import EvaluationError
from steersman.cel.library.core import optional_index
from steersman.cel.values.shapes import MAP_CLASSES, find
from steersman.cel.values.values import NONE, Absent, Present
from steersman.json_types import ABSENT


def field_of(container: object, name: str) -> object:
    """Return a field of an object or the value under a key of a map; of an optional, an optional."""
    if container.__class__ in MAP_CLASSES:
        value = find(container, name)
        if value is not ABSENT:
            return value
    elif isinstance(container, Present | Absent):
        return optional_field(container, name)
    raise EvaluationError(f"no such key: {name}")


def has_field(container: object, name: str) -> bool:
    """Return whether a field or key is there; a value that cannot be read is an error even so."""
    if container.__class__ in MAP_CLASSES:
        return find(container, name) is not ABSENT
    return isinstance(container, Present) and has_field(container.value, name)


def optional_field(container: object, name: str) -> Present | Absent:
    """Return a field if it is there; also of an optional object."""
    if isinstance(container, Present):
        return optional_field(container.value, name)
    if isinstance(container, Absent):
        return NONE
    if container.__class__ in MAP_CLASSES:
        return optional_index(container, name)
    raise EvaluationError(f"no such key: {name}")
