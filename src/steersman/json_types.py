"""Names for what JSON decodes to, so that a signature says which part of a document it takes."""

from typing import Any, Final, TypeAlias

#: A JSON object, such as a Kubernetes object that was not decoded into a class.
JsonObject: TypeAlias = dict[str, Any]
#: Any JSON value. Check its class before use.
Json: TypeAlias = JsonObject | list[Any] | str | int | float | bool | None


class _Absent:
    """The type of `ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


#: Stands for a missing value where null is a value.
ABSENT: Final = _Absent()
