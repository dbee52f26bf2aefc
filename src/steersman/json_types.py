"""JSON as Python has it: the name of an object for annotations, `ABSENT`, and deep copies.

A JSON value of unknown type is annotated as ``object``: it is narrowed by its class before it is used.
"""

from typing import Any, Final, TypeAlias

#: A JSON object, such as a Kubernetes object that was not decoded into a class.
JsonObject: TypeAlias = dict[str, Any]


class _Absent:
    """The type of `ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


#: Stands for a missing value where null is a value.
ABSENT: Final = _Absent()


def copied(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    if value.__class__ is dict:
        return {name: copied(item) for name, item in value.items()}
    if value.__class__ is list:
        return [copied(item) for item in value]
    return value
