"""What got lost: the fields of an object that a copy of it does not have, or has with another value."""

from collections.abc import Iterator
from typing import Any

from steersman.errors import DecodeError
from steersman.json_types import ABSENT, JsonObject
from steersman.objects.codec import from_json, to_json
from steersman.objects.resource import Resource


def lost_fields(before: JsonObject, after: JsonObject, kind: type[Resource[Any, Any]]) -> list[str]:
    """Return the fields of an object that are missing, or different, after a round trip.

    Values are compared as the class reads them: ``60s`` and ``1m`` are one duration. Additional fields are not a loss,
    and empty lists and objects are ignored.
    """
    if before == after:
        return []
    read, returned = _as_read(before, kind), _as_read(after, kind)
    absent = {path for path, value in _leaves(before) if _at(after, path) is ABSENT and value is not None}
    changed = {path for path, value in _leaves(read) if _at(returned, path) != value}
    lost = absent | {path for path in changed if _at(before, path) is not ABSENT}
    return sorted(map(_text, lost))


def _as_read(document: JsonObject, kind: type[Resource[Any, Any]]) -> JsonObject:
    try:
        return to_json(from_json(kind, document))
    except DecodeError:
        return document


def _leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:
    if value.__class__ is dict:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif value.__class__ is list:
        for place, inner in enumerate(value):
            yield from _leaves(inner, (*path, place))
    else:
        yield path, value


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return value


def _text(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
