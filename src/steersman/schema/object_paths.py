"""Fields of objects by their paths, `.spec.replicas`, as columns and scales are named; items of lists have none."""

from typing import Any

from steersman.errors import DeclarationError
from steersman.json_types import ABSENT, JsonObject

ObjectPath = tuple[str, ...]


def object_path(text: str) -> ObjectPath:
    """Parse a path; raise `DeclarationError` for another syntax, or a path into a list."""
    names = tuple(text[1:].split("."))
    if not text.startswith(".") or not all(names) or "[" in text:
        raise DeclarationError(
            f"{text!r} is not the path of a field: write one such as '.spec.replicas', with the names of the wire; "
            "items of lists have none"
        )
    return names


def value_at(document: JsonObject, path: ObjectPath) -> Any:
    """Return the value of a field, or `ABSENT`."""
    value: Any = document
    for name in path:
        if value.__class__ is not dict or name not in value:
            return ABSENT
        value = value[name]
    return value


def put_at(document: JsonObject, path: ObjectPath, value: object) -> bool:
    """Set a field, and the objects around it where there are none; answer no where something else stands in the way."""
    *parents, last = path
    for name in parents:
        inner = document.setdefault(name, {})
        if inner.__class__ is not dict:
            return False
        document = inner
    document[last] = value
    return True


def take_at(document: JsonObject, path: ObjectPath) -> object:
    """Remove a field and return its value, or `ABSENT`; remove objects that become empty, but never a whole part."""
    found = value_at(document, path)
    if found is ABSENT:
        return ABSENT
    for length in range(len(path), 0, -1):
        parent: JsonObject = value_at(document, path[: length - 1]) if length > 1 else document
        del parent[path[length - 1]]
        if parent or length <= 2:  # noqa: PLR2004 - .spec and .status stay
            break
    return found
