"""One step of a path into an object, written as FieldsV1 writes it: ``f:name``, ``k:{"name":"a"}``, ``v:"x"``, ``i:0``.

A step is a plain string everywhere: it is a key of the FieldsV1 tree and needs no translation on the way in or out.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from steersman.golang import text as go_text
from steersman.golang.text import json_number
from steersman.json_types import JsonObject

_encode = msgspec.json.encode
_PREFIX: Final = 2


#: From here on Go writes whole numbers with an exponent, too.
_EXPONENT_FROM = 1e21


def json_text(value: object) -> str:
    """Write JSON as Go does: compact, keys sorted, ``<``, ``>`` and ``&`` escaped, whole floats without a point."""
    if value.__class__ is str:
        return _quoted(value)
    if value.__class__ is float:
        return json_number(value)
    return _escaped(_encode(_whole(value), order="sorted").decode())


# The keys of list items are few and come again in every object.
@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    return _escaped(_encode(text).decode())


def _escaped(text: str) -> str:
    if "<" in text or ">" in text or "&" in text:
        text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _whole(value: object) -> object:
    if value.__class__ is float and abs(value) < _EXPONENT_FROM and value.is_integer():
        return int(value)
    if value.__class__ is dict:
        return {key: _whole(member) for key, member in value.items()}
    if value.__class__ is list:
        return [_whole(item) for item in value]
    return value


def key_element(item: Mapping[str, object], keys: Sequence[str], defaults: Mapping[str, object]) -> str | None:
    """Return the step to an item of a list with keys; ``keys`` are sorted. ``None`` if the item has none of them."""
    parts = []
    for key in keys:
        if key in item:
            parts.append(f'"{key}":{json_text(item[key])}')
        elif defaults.get(key) is not None:
            parts.append(f'"{key}":{json_text(defaults[key])}')
    return f"k:{{{','.join(parts)}}}" if parts else None


def value_element(value: object) -> str:
    """Return the step to an item of a set."""
    return "v:" + json_text(value)


def canonical(element: str) -> str | None:
    """Return a foreign spelling of a step in our own spelling; ``None`` for one of an unknown kind.

    Raises ValueError if the step is of a known kind and makes no sense.
    """
    prefix, rest = element[:_PREFIX], element[_PREFIX:]
    if prefix == "f:":
        return element
    if prefix == "v:":
        return value_element(msgspec.json.decode(rest))
    if prefix == "i:":
        return f"i:{int(rest)}"
    if prefix == "k:":
        keys = msgspec.json.decode(rest, type=JsonObject)
        return f"k:{json_text(keys)}"
    if len(element) < _PREFIX or element[1] != ":":
        raise ValueError(f"not a path element: {element!r}")
    return None


def display(element: str) -> str:
    """Write a step for a person: ``.name``, ``[name="a"]``, ``[="x"]``, ``[0]``."""
    prefix, rest = element[:_PREFIX], element[_PREFIX:]
    if prefix == "f:":
        return f".{rest}"
    if prefix == "k:":
        keys: JsonObject = msgspec.json.decode(rest)
        return "[" + ",".join(f"{name}={_shown(value)}" for name, value in keys.items()) + "]"
    if prefix == "v:":
        return f"[={_shown(msgspec.json.decode(rest))}]"
    return f"[{rest}]"


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if value.__class__ is list:
        return f"[{','.join(map(_shown, value))}]"
    if value.__class__ is dict:
        return "".join(f"{key}={_shown(part)}" for key, part in value.items())
    return go_text.quoted(value) if value.__class__ is str else go_text.plain(value)
