"""The JSON paths of printer columns, selectable fields and scale: ``.spec.items[0].name``, ``.a[?(@.b=="c")].d``.

Compiled once into steps; following them never fails, a path that leads nowhere finds nothing.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from steersman.json_types import JsonObject

Step = Callable[[Any], Iterator[Any]]

_TOKEN = re.compile(
    r"""\.?(?P<name>[A-Za-z0-9_$\-/](?:[A-Za-z0-9_$\-/]|\\.)*)"""
    r"""|\[(?P<index>-?\d+)\]"""
    r"""|\[(?P<quote>['"])(?P<key>.*?)(?P=quote)\]"""
    r"""|\[(?P<star>\*|:)\]"""
    r"""|\.(?P<dotstar>\*)"""
    r"""|\[\?\(\s*@(?P<path>[^=!<>\s)]*)\s*(?:(?P<op>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|[^)\s]+)\s*)?\)\]"""
)


class PathError(ValueError):
    """The text is not a supported path."""


def _field(name: str) -> Step:
    def step(value: object) -> Iterator[object]:
        if value.__class__ is dict and name in value:
            yield value[name]

    return step


def _index(position: int) -> Step:
    def step(value: object) -> Iterator[object]:
        if value.__class__ is list and -len(value) <= position < len(value):
            yield value[position]

    return step


def _every(value: object) -> Iterator[object]:
    if value.__class__ is list:
        yield from value
    elif value.__class__ is dict:
        yield from value.values()


def _filter(path: str, operator: str | None, wanted: str) -> Step:
    inner = compile_path(path)

    def holds(item: object) -> bool:
        found = [_text(part) for part in inner(item)]
        if operator is None:
            return bool(found)
        return (wanted in found) is (operator == "==") if found else False

    def step(value: object) -> Iterator[object]:
        if value.__class__ is list:
            yield from (item for item in value if holds(item))

    return step


def _text(value: object) -> str:
    if value is True or value is False:
        return "true" if value else "false"
    return str(value)


def _step(match: re.Match[str]) -> Step:
    if (name := match["name"]) is not None:
        return _field(re.sub(r"\\(.)", r"\1", name))
    if match["index"] is not None:
        return _index(int(match["index"]))
    if match["key"] is not None:
        return _field(match["key"])
    if match["star"] or match["dotstar"]:
        return _every
    return _filter(match["path"], match["op"], (match["value"] or "").strip("\"'"))


@lru_cache(maxsize=1024)
def compile_path(text: str) -> Callable[[Any], list[Any]]:
    """Compile a path to a function that yields every value at the path in a document."""
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    inner = inner.removeprefix("$")
    steps: list[Step] = []
    position = 0
    while position < len(inner) and inner != ".":
        match = _TOKEN.match(inner, position)
        if match is None or match.end() == position:
            raise PathError(f"unrecognized character in path: {text!r}")
        steps.append(_step(match))
        position = match.end()

    def follow(document: object) -> list[Any]:
        found = [document]
        for step in steps:
            found = [below for value in found for below in step(value)]
        return found

    return follow


def simple_path(text: str) -> tuple[str, ...]:
    """Parse a path of field names only, as scale paths are."""
    return tuple(part for part in text.split(".") if part)


def get_at(document: object, path: tuple[str, ...]) -> object:
    """Return the value at a simple path; ``None`` without one."""
    for name in path:
        if document.__class__ is not dict:
            return None
        document = document.get(name)
    return document


def set_at(document: JsonObject, path: tuple[str, ...], value: object) -> None:
    """Set the value at a simple path, creating the objects in between."""
    for name in path[:-1]:
        below = document.get(name)
        if below.__class__ is not dict:
            below = document[name] = {}
        document = below
    document[path[-1]] = value
