"""``fieldPath`` of a rule: a path such as ``.spec.ports['http']`` that must exist in the schema."""

import re
from collections.abc import Mapping
from typing import Any

_MARK = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+")
_ESCAPE = re.compile(r"\\(.)")
_CHARACTERS = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}
_QUOTES = 2


def normalized_field_path(path: str, schema: Mapping[str, Any]) -> str | None:
    """Return the path as it appears in errors, or ``None`` when the schema has no such field."""
    marks = iter(_MARK.findall(path))
    shown = ""
    current: Mapping[str, Any] | None = schema
    for mark in marks:
        name = _name(mark, marks)
        if name is None or current is None:
            return None
        properties = current.get("properties")
        values = current.get("additionalProperties")
        if properties is not None:
            current = properties.get(name)
            shown += f".{name}" if shown else name
        elif values is not None:
            current = values if isinstance(values, Mapping) else None
            shown += f"[{name}]"
        else:
            return None
        if current is None and properties is not None:
            return None
    return shown


def _name(mark: str, marks: Any) -> str | None:
    """Read the name behind a dot or inside brackets."""
    name: str | None = next(marks, None)
    if name is None or mark not in ".[":
        return None
    if mark == ".":
        return name
    if len(name) < _QUOTES or name[0] != "'" or name[-1] != "'" or next(marks, None) != "]":
        return None
    return _unescaped(name[1:-1])


def _unescaped(text: str) -> str | None:
    if any(match not in _CHARACTERS for match in _ESCAPE.findall(text)):
        return None
    return _ESCAPE.sub(lambda match: _CHARACTERS[match[1]], text)
